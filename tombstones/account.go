package tombstones

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// account is what the log tells of one erasure, and the way to add to it.
type account struct {
	aggregate events.Aggregate
	state     events.ErasureState
	// rotatedAt is when every key that it had below the root had been replaced, zero
	// while one has not.
	rotatedAt time.Time
}

// apply folds one commit.
func (a *account) apply(r events.Recorded) {
	a.state.Apply(r)
	p := progressOf(&a.state, storeRotation)
	switch done := p.Planned > 0 && p.Done == p.Planned; {
	case !done:
		a.rotatedAt = time.Time{}
	case a.rotatedAt.IsZero():
		a.rotatedAt = r.RecordedAt
	}
}

func accountOf(tenant, erasure string) *account {
	return &account{aggregate: events.Aggregate{Tenant: tenant, Kind: events.KindErasure, ID: erasure}}
}

// readAccount reads on where the account is.
func (e *Eraser) readAccount(ctx context.Context, a *account) error {
	for r, err := range e.log.ReadAggregate(ctx, a.aggregate, a.state.Position) {
		if err != nil {
			return fmt.Errorf("read account: %w", err)
		}
		a.apply(r)
	}
	return nil
}

// enter adds what news makes of the account as it stands to it, until nobody was
// faster. Nothing to add is success.
func (e *Eraser) enter(ctx context.Context, principal string, a *account, news func(*events.ErasureState) []events.Event) error {
	for range maxTries {
		if err := e.readAccount(ctx, a); err != nil {
			return err
		}
		list := news(&a.state)
		if len(list) == 0 {
			return nil
		}
		c := events.Commit{
			ID: e.newID(), Aggregate: a.aggregate, Time: events.Micro(e.now()), Principal: principal, Events: list,
		}
		ack, err := e.log.Append(ctx, c, events.Expect(a.state.Position))
		switch {
		case errors.Is(err, events.ErrConflict):
		case err != nil:
			return fmt.Errorf("enter account: %w", err)
		default:
			a.apply(events.Recorded{Commit: c, Position: ack.Position, RecordedAt: c.Time})
			return nil
		}
	}
	return fmt.Errorf("enter account: %w", events.ErrConflict)
}

// Status is how far an erasure has come.
type Status struct {
	ErasureID string       `json:"erasure_id"`
	Level     Level        `json:"level"`
	Cause     events.Cause `json:"cause"`
	Scope     string       `json:"scope"`
	// Matched counts the records that were asked for.
	Matched int `json:"matched"`
	// Late counts the records of the subject that were acknowledged while it was
	// being forgotten, and came into the log behind its tombstone. They end with it,
	// and are all counted when it is purged, but for what is acknowledged after that.
	Late int `json:"late,omitzero"`
	// Position is that of the last tombstone of what was asked for.
	Position    uint64      `json:"position"`
	RequestedAt events.Time `json:"requested_at"`
	// Levels tell when each level was reached.
	Levels map[Level]events.Time `json:"levels"`
	Stores []Store               `json:"stores"`
}

// Store is the cleanup of one store. It is complete when nothing is planned that
// is not done.
type Store struct {
	Store        string       `json:"store"`
	Planned      int          `json:"planned"`
	Done         int          `json:"done"`
	Failed       int          `json:"failed"`
	PendingUntil *events.Time `json:"pending_until,omitempty"`
}

// Status tells how far an erasure of the caller's tenant has come, by the log
// itself. What is not there and what is another tenant's are one error,
// ErrNotFound. The others are ErrForbidden and the log's.
func (e *Eraser) Status(ctx context.Context, caller events.Caller, id string) (Status, error) {
	if !caller.Has(events.RoleAgent, events.RoleAuditor, events.RoleAdmin) {
		return Status{}, events.ErrForbidden
	}
	a, err := e.findAccount(ctx, caller, id)
	if err != nil {
		return Status{}, err
	}
	return statusOf(a), nil
}

// findAccount finds the account of an erasure of the caller's tenant.
func (e *Eraser) findAccount(ctx context.Context, caller events.Caller, id string) (*account, error) {
	tenant, err := e.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return nil, events.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("find tenant: %w", err)
	}
	canonical := token.CanonicalID(id)
	if canonical == "" {
		return nil, events.ErrNotFound
	}
	a := accountOf(tenant.Token(), canonical)
	if err := e.readAccount(ctx, a); err != nil {
		return nil, err
	}
	if !a.state.Known() {
		return nil, events.ErrNotFound
	}
	return a, nil
}

func statusOf(a *account) Status {
	s := &a.state
	out := Status{
		ErasureID: a.aggregate.ID, Level: shown(s.Level), Cause: s.Cause, Scope: s.Scope, Matched: s.Matched,
		Late: s.Late.Records, Position: s.Tombstone, RequestedAt: events.At(s.RequestedAt), Levels: map[Level]events.Time{}, Stores: []Store{},
	}
	for level, at := range s.Reached {
		out.Levels[level] = events.At(at)
	}
	for _, p := range s.Stores {
		out.Stores = append(out.Stores, Store{
			Store: p.Store, Planned: p.Planned, Done: p.Done, Failed: p.Failed, PendingUntil: events.AtOrNil(p.PendingUntil),
		})
	}
	return out
}

// shown is the level as callers see it: what was cascaded is denied to them.
func shown(l Level) Level {
	if l == events.LevelCascaded || l == "" {
		return LevelDenied
	}
	return l
}
