package suppression

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

const (
	// fresh is for how long the log is not asked again about a tenant.
	fresh = time.Second
	// field is the field of the hashes. It is for ever.
	field = "suppressed"
	// maxTries bounds how often a conflict is answered by another try: each means
	// that someone else got on.
	maxTries = 100
)

// ErrConfig says that a set was made without something it needs.
var ErrConfig = errors.New("suppression: configuration is incomplete")

// Log is what a set needs of the log.
type Log interface {
	events.Appender
	events.AggregateReader
}

// Config is what a set is made of. All of it is required.
type Config struct {
	Log Log
	// Now is the writer's clock in the commits, and what a second is measured by.
	Now func() time.Time
	// NewID makes the ids of commits.
	NewID func() string
}

// Set is what the tenants want kept out. It is safe for concurrent use and starts
// no goroutines. Its memory grows with the number of hashes of the tenants that it
// was asked about, 26 bytes each and what a map and a list take.
type Set struct {
	c Config

	mu      sync.Mutex // guards tenants
	tenants map[string]*tenant
}

// tenant is what is known of one tenant.
type tenant struct {
	mu sync.Mutex // guards what follows
	// hashes count the suppressions that keep each of them out.
	hashes       map[string]int
	suppressions map[string]*suppression
	position     uint64
	asked        time.Time
}

// suppression is what was kept out at once.
type suppression struct {
	hashes map[string]struct{}
	since  time.Time
	begun  uint64
}

// New makes a set. The error is ErrConfig.
func New(c Config) (*Set, error) {
	if c.Log == nil || c.Now == nil || c.NewID == nil {
		return nil, ErrConfig
	}
	return &Set{c: c, tenants: make(map[string]*tenant)}, nil
}

// Has reports whether any of the values is to be kept out. The error is the log's.
func (s *Set) Has(ctx context.Context, t *seal.Tenant, values ...string) (bool, error) {
	k := s.tenant(t.Token())
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := s.c.Now(); k.asked.IsZero() || now.Sub(k.asked) >= fresh || now.Before(k.asked) {
		if err := s.read(ctx, t.Token(), k); err != nil {
			return false, err
		}
		k.asked = now
	}
	if len(k.hashes) == 0 {
		return false, nil
	}
	for _, h := range hashes(t, values) {
		if _, ok := k.hashes[h]; ok {
			return true, nil
		}
	}
	return false, nil
}

// Add keeps values out from now on, under the id of a suppression, in the name of a
// principal, which is a token. Without an id it makes one. It returns the id and how
// many values that keeps out by then, equal ones once. What it keeps out already is
// not written again. The error is the log's.
func (s *Set) Add(ctx context.Context, t *seal.Tenant, principal, id string, values []string) (string, int, error) {
	if id == "" {
		id = s.c.NewID()
	}
	k, all := s.tenant(t.Token()), hashes(t, values)
	k.mu.Lock()
	defer k.mu.Unlock()
	for chunk := range slices.Chunk(all, events.MaxEvents) {
		if err := s.add(ctx, t.Token(), principal, id, k, chunk); err != nil {
			return "", 0, err
		}
	}
	return id, k.count(id), nil
}

func (s *Set) add(ctx context.Context, token, principal, id string, k *tenant, list []string) error {
	return s.append(ctx, token, principal, k, func() events.Event {
		have := k.suppressions[id]
		var missing []string
		for _, h := range list {
			if have == nil {
				missing = append(missing, h)
			} else if _, ok := have.hashes[h]; !ok {
				missing = append(missing, h)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		return events.ValueSuppressed{Suppression: id, Hashes: missing}
	})
}

// append reads on and appends what is missing, until nothing is.
func (s *Set) append(ctx context.Context, token, principal string, k *tenant, missing func() events.Event) error {
	for range maxTries {
		if err := s.read(ctx, token, k); err != nil {
			return err
		}
		event := missing()
		if event == nil {
			return nil
		}
		_, err := s.c.Log.Append(ctx, events.Commit{
			ID: s.c.NewID(), Aggregate: aggregate(token), Time: events.Micro(s.c.Now()), Principal: principal,
			Events: []events.Event{event},
		}, events.Expect(k.position))
		if err != nil && !errors.Is(err, events.ErrConflict) {
			return fmt.Errorf("change what is suppressed: %w", err)
		}
		// What was written is read, as what someone else wrote is.
	}
	return fmt.Errorf("change what is suppressed: %w", events.ErrConflict)
}

// read reads on where the tenant is.
func (s *Set) read(ctx context.Context, token string, k *tenant) error {
	for r, err := range s.c.Log.ReadAggregate(ctx, aggregate(token), k.position) {
		if err != nil {
			return fmt.Errorf("read suppressed values: %w", err)
		}
		for _, e := range r.Events {
			switch e := e.(type) {
			case events.ValueSuppressed:
				k.keepOut(e, &r)
			case events.SuppressionRemoved:
				k.letIn(e.Suppression)
			default:
			}
		}
		k.position = r.Position
	}
	return nil
}

func (k *tenant) keepOut(e events.ValueSuppressed, r *events.Recorded) {
	if k.hashes == nil {
		k.hashes, k.suppressions = make(map[string]int), make(map[string]*suppression)
	}
	s := k.suppressions[e.Suppression]
	if s == nil {
		s = &suppression{hashes: make(map[string]struct{}), since: r.RecordedAt, begun: r.Position}
		k.suppressions[e.Suppression] = s
	}
	for _, h := range e.Hashes {
		if _, ok := s.hashes[h]; !ok {
			s.hashes[h] = struct{}{}
			k.hashes[h]++
		}
	}
}

func (k *tenant) letIn(id string) {
	s := k.suppressions[id]
	if s == nil {
		return
	}
	for h := range s.hashes {
		if k.hashes[h]--; k.hashes[h] == 0 {
			delete(k.hashes, h)
		}
	}
	delete(k.suppressions, id)
}

func (k *tenant) count(id string) int {
	if s := k.suppressions[id]; s != nil {
		return len(s.hashes)
	}
	return 0
}

func (s *Set) tenant(token string) *tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.tenants[token]
	if k == nil {
		k = &tenant{}
		s.tenants[token] = k
	}
	return k
}

func aggregate(token string) events.Aggregate {
	return events.Aggregate{Tenant: token, Kind: events.KindSuppression, ID: events.SharedID}
}

// hashes are those of the values that are not empty, sorted and distinct, so that
// their order tells nothing.
func hashes(t *seal.Tenant, values []string) []string {
	var list []string
	for _, v := range values {
		if n := Normal(v); n != "" {
			list = append(list, t.Hash(field, n))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
