package producers

import (
	"context"
	"fmt"
	"sync"

	"github.com/annals-memory/annals/events/seal"
)

// nameCache keeps what names stand for, so that a command on a known subject
// reads no name row. It may be stale: a subject can be forgotten elsewhere. So
// every command asks the log about the id it got, after it made its key, and
// drops it from here if the log says that it is forgotten.
type nameCache struct {
	mu       sync.RWMutex
	tenants  map[string]*seal.Tenant
	subjects map[subjectName]string
	// proven are the scopes under which a record was begun and its subject
	// found alive after that.
	proven map[seal.Scope]bool
}

type subjectName struct{ tenant, name string }

// The caches are emptied when they are full; they refill from the key rows.
const (
	maxTenantNames  = 4_096
	maxSubjectNames = 65_536
)

func newNameCache() *nameCache {
	return &nameCache{tenants: map[string]*seal.Tenant{}, subjects: map[subjectName]string{}, proven: map[seal.Scope]bool{}}
}

// tenant finds or makes the tenant of that outside name.
func (g *Gateway) tenant(ctx context.Context, name string) (*seal.Tenant, error) {
	g.names.mu.RLock()
	t, ok := g.names.tenants[name]
	g.names.mu.RUnlock()
	if ok {
		return t, nil
	}
	t, err := g.keys.Tenant(ctx, name, true)
	if err != nil {
		return nil, fmt.Errorf("find tenant: %w", err)
	}
	g.names.mu.Lock()
	defer g.names.mu.Unlock()
	if len(g.names.tenants) >= maxTenantNames {
		clear(g.names.tenants)
	}
	g.names.tenants[name] = t
	return t, nil
}

// subjectID finds or makes the id of a subject's outside name.
func (g *Gateway) subjectID(ctx context.Context, t *seal.Tenant, name string) (string, error) {
	at := subjectName{t.Token(), name}
	g.names.mu.RLock()
	sid, ok := g.names.subjects[at]
	g.names.mu.RUnlock()
	if ok {
		return sid, nil
	}
	sid, err := t.SubjectID(ctx, name, true)
	if err != nil {
		return "", fmt.Errorf("find subject: %w", err)
	}
	g.names.mu.Lock()
	defer g.names.mu.Unlock()
	if len(g.names.subjects) >= maxSubjectNames {
		clear(g.names.subjects)
	}
	g.names.subjects[at] = sid
	return sid, nil
}

func (c *nameCache) dropSubject(tenant, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subjects, subjectName{tenant, name})
}

func (c *nameCache) isProven(s seal.Scope) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.proven[s]
}

func (c *nameCache) prove(s seal.Scope) {
	if c.isProven(s) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.proven) >= maxSubjectNames {
		clear(c.proven)
	}
	c.proven[s] = true
}
