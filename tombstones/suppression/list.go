package suppression

import (
	"cmp"
	"context"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// Suppression is what was kept out by one request. It has no value in it.
type Suppression struct {
	ID string `json:"id"`
	// Since is when it began.
	Since events.Time `json:"since"`
	// Values counts what it keeps out, equal ones once.
	Values int `json:"values"`
	// Position is that of its first event.
	Position uint64 `json:"position"`
}

// List returns the suppressions of a tenant, newest first. The error is the log's.
func (s *Set) List(ctx context.Context, t *seal.Tenant) ([]Suppression, error) {
	k := s.tenant(t.Token())
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := s.read(ctx, t.Token(), k); err != nil {
		return nil, err
	}
	list := make([]Suppression, 0, len(k.suppressions))
	for id, x := range k.suppressions {
		list = append(list, Suppression{ID: id, Since: events.At(x.since), Values: len(x.hashes), Position: x.begun})
	}
	slices.SortFunc(list, func(a, b Suppression) int {
		return cmp.Or(cmp.Compare(b.Position, a.Position), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Count returns how many values a suppression keeps out, 0 if there is none of that
// id. The error is the log's.
func (s *Set) Count(ctx context.Context, t *seal.Tenant, id string) (int, error) {
	k := s.tenant(t.Token())
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := s.read(ctx, t.Token(), k); err != nil {
		return 0, err
	}
	return k.count(id), nil
}

// Remove lifts a suppression, in the name of a principal: when it returns its values
// are let in here, and within a second by other processes, unless another one keeps
// them out. It returns the position up to which that is known, and
// events.ErrNotFound if there is none of that id. The other errors are the log's.
func (s *Set) Remove(ctx context.Context, t *seal.Tenant, principal, id string) (uint64, error) {
	k := s.tenant(t.Token())
	k.mu.Lock()
	defer k.mu.Unlock()
	found := false
	err := s.append(ctx, t.Token(), principal, k, func() events.Event {
		if k.suppressions[id] == nil {
			return nil
		}
		found = true
		return events.SuppressionRemoved{Suppression: id}
	})
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, events.ErrNotFound
	}
	return k.position, nil
}
