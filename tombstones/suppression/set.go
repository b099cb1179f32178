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
// was asked about, 26 bytes each and what a map takes.
type Set struct {
	c Config

	mu      sync.Mutex // guards tenants
	tenants map[string]*tenant
}

// tenant is what is known of one tenant.
type tenant struct {
	mu       sync.Mutex // guards what follows
	hashes   map[string]struct{}
	position uint64
	asked    time.Time
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

// Add keeps values out from now on, in the name of a principal, which is a token.
// What is kept out already is not written again. The error is the log's.
func (s *Set) Add(ctx context.Context, t *seal.Tenant, principal string, values []string) error {
	k, all := s.tenant(t.Token()), hashes(t, values)
	k.mu.Lock()
	defer k.mu.Unlock()
	for chunk := range slices.Chunk(all, events.MaxEvents) {
		if err := s.add(ctx, t.Token(), principal, k, chunk); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) add(ctx context.Context, token, principal string, k *tenant, list []string) error {
	for range maxTries {
		if err := s.read(ctx, token, k); err != nil {
			return err
		}
		var missing []string
		for _, h := range list {
			if _, ok := k.hashes[h]; !ok {
				missing = append(missing, h)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		_, err := s.c.Log.Append(ctx, events.Commit{
			ID: s.c.NewID(), Aggregate: aggregate(token), Time: events.Micro(s.c.Now()), Principal: principal,
			Events: []events.Event{events.ValueSuppressed{Hashes: missing}},
		}, events.Expect(k.position))
		if err != nil && !errors.Is(err, events.ErrConflict) {
			return fmt.Errorf("suppress values: %w", err)
		}
		// What was written is read, as what someone else wrote is.
	}
	return fmt.Errorf("suppress values: %w", events.ErrConflict)
}

// read reads on where the tenant is.
func (s *Set) read(ctx context.Context, token string, k *tenant) error {
	for r, err := range s.c.Log.ReadAggregate(ctx, aggregate(token), k.position) {
		if err != nil {
			return fmt.Errorf("read suppressed values: %w", err)
		}
		for _, e := range r.Events {
			if e, ok := e.(events.ValueSuppressed); ok {
				if k.hashes == nil {
					k.hashes = make(map[string]struct{})
				}
				for _, h := range e.Hashes {
					k.hashes[h] = struct{}{}
				}
			}
		}
		k.position = r.Position
	}
	return nil
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
