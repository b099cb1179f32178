package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// Hold is where a subject stands after a hold was put on it, or lifted.
type Hold struct {
	// Held says that there is at least one hold.
	Held bool `json:"held"`
	// Position is the one to wait for.
	Position uint64 `json:"position"`
}

// Hold puts a legal hold on a subject. When it returns no ordinary read shows
// anything of it, and no forget destroys anything until the last hold is lifted;
// what a forget had destroyed by then is gone. Putting it again changes nothing.
// The errors are ErrForbidden, an InputError, ErrNotFound for a subject that nothing
// is kept of, ErrBehind if the views did not get there in time (the hold is in the
// log), the log's, and the ledger's: after one of them the same call completes it.
func (e *Eraser) Hold(ctx context.Context, caller events.Caller, subject, hold string) (Hold, error) {
	return e.changeHold(ctx, caller, subject, hold, func(s *events.SubjectState, name string) events.Event {
		if slices.Contains(s.Holds, name) {
			return nil
		}
		return events.SubjectHeld{Hold: name}
	})
}

// Release lifts a legal hold. What was forgotten meanwhile is erased from then on, if
// no other hold is left. Lifting one that is not there changes nothing. The errors
// are those of [Eraser.Hold].
func (e *Eraser) Release(ctx context.Context, caller events.Caller, subject, hold string) (Hold, error) {
	out, err := e.changeHold(ctx, caller, subject, hold, func(s *events.SubjectState, name string) events.Event {
		if !slices.Contains(s.Holds, name) {
			return nil
		}
		return events.SubjectReleased{Hold: name}
	})
	e.unfinished.wake()
	return out, err
}

func (e *Eraser) changeHold(
	ctx context.Context, caller events.Caller, subject, hold string, change func(s *events.SubjectState, name string) events.Event,
) (Hold, error) {
	if !caller.Has(events.RoleAdmin) {
		return Hold{}, events.ErrForbidden
	}
	if err := checkName("subject", subject); err != nil {
		return Hold{}, err
	}
	if err := checkName("hold", hold); err != nil {
		return Hold{}, err
	}
	t, sid, err := e.known(ctx, caller, subject)
	if err != nil {
		return Hold{}, err
	}
	s, err := e.changeSubject(ctx, t, sid, token.Principal(t, caller.Principal), func(s *events.SubjectState) []events.Event {
		if ev := change(s, t.Hash("hold", token.NFC(hold))); ev != nil {
			return []events.Event{ev}
		}
		return nil
	})
	if err != nil {
		return Hold{}, err
	}
	if err := e.copySubject(ctx, t.Token(), sid); err != nil {
		return Hold{}, err
	}
	return Hold{Held: len(s.Holds) > 0, Position: s.Position}, e.wait(ctx, s.Position)
}

// copySubject has the ledger know all holds and consents of a subject: also those
// that were cut off before it did.
func (e *Eraser) copySubject(ctx context.Context, tenant, sid string) error {
	if e.ledger == nil {
		return nil
	}
	var list []ledger.SubjectChange
	for r, err := range e.log.ReadAggregate(ctx, events.Aggregate{Tenant: tenant, Kind: events.KindSubject, ID: sid}, 0) {
		if err != nil {
			return fmt.Errorf("read subject: %w", err)
		}
		list = append(list, ledger.ChangesOf(r)...)
	}
	return e.copyChanges(ctx, list)
}

func (e *Eraser) copyChanges(ctx context.Context, list []ledger.SubjectChange) error {
	if e.ledger == nil || len(list) == 0 {
		return nil
	}
	if err := e.ledger.RecordSubject(ctx, list); err != nil {
		return fmt.Errorf("copy changes of a subject: %w", err)
	}
	return nil
}

// known finds a subject by its name.
func (e *Eraser) known(ctx context.Context, caller events.Caller, subject string) (*seal.Tenant, string, error) {
	t, err := e.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return nil, "", events.ErrNotFound
	}
	if err != nil {
		return nil, "", fmt.Errorf("find tenant: %w", err)
	}
	sid, err := t.SubjectID(ctx, subject, false)
	if errors.Is(err, seal.ErrUnknownSubject) {
		return nil, "", events.ErrNotFound
	}
	if err != nil {
		return nil, "", fmt.Errorf("find subject: %w", err)
	}
	return t, sid, nil
}

// changeSubject appends what change makes of a subject as the log has it, until
// nobody was faster, and returns how it is then. A subject without a commit is
// ErrNotFound.
func (e *Eraser) changeSubject(
	ctx context.Context, t *seal.Tenant, sid, principal string, change func(*events.SubjectState) []events.Event,
) (events.SubjectState, error) {
	agg := events.Aggregate{Tenant: t.Token(), Kind: events.KindSubject, ID: sid}
	for range maxTries {
		s, err := events.ReadSubject(ctx, e.log, t.Token(), sid)
		if err != nil {
			return s, fmt.Errorf("change subject: %w", err)
		}
		if s.Position == 0 {
			return s, events.ErrNotFound
		}
		list := change(&s)
		if len(list) == 0 {
			return s, nil
		}
		c := events.Commit{ID: e.newID(), Aggregate: agg, Time: events.Micro(e.now()), Principal: principal, Events: list}
		ack, err := e.log.Append(ctx, c, events.Expect(s.Position))
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		if err != nil {
			return s, fmt.Errorf("change subject: %w", err)
		}
		s.Apply(events.Recorded{Commit: c, Position: ack.Position, RecordedAt: c.Time})
		return s, nil
	}
	return events.SubjectState{}, fmt.Errorf("change subject: %w", events.ErrConflict)
}
