package tombstones

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// The scopes of erasures.
const (
	scopeRecord   = "record"
	scopeFilter   = "filter"
	scopeSource   = "source"
	scopeSubject  = "subject"
	scopeSession  = "session"
	scopeCategory = "category"
)

// deny copies the tombstones into the ledger, waits until no serving view
// shows what they end, and begins the account.
func (s *saga) deny(ctx context.Context, matched int, position uint64) error {
	if err := s.readAccount(ctx, s.account); err != nil {
		return err
	}
	if !s.account.state.Known() {
		if err := s.record(ctx); err != nil {
			return err
		}
	}
	if err := s.wait(ctx, position); err != nil {
		return err
	}
	if s.account.state.Level != "" {
		return nil
	}
	asked := events.ErasureRequested{
		Cause: s.job.cause, Scope: s.job.scope, Subject: s.job.subject, Matched: matched, Tombstone: position,
	}
	if s.account.aggregate.ID != s.job.erasure {
		var err error
		if asked, err = s.reconstruct(ctx, s.account); err != nil {
			return err
		}
	}
	return s.begun(ctx, asked)
}

// begun enters the request and that it is denied, if nobody has.
func (s *saga) begun(ctx context.Context, asked events.ErasureRequested) error {
	return s.enter(ctx, s.job.principal, s.account, func(state *events.ErasureState) []events.Event {
		if state.Level != "" {
			return nil
		}
		var list []events.Event
		if !state.Known() {
			list = append(list, asked)
		}
		return append(list, events.ErasureAdvanced{Level: LevelDenied})
	})
}

// reconstruct is what the tombstones tell of an erasure whose account was never
// begun, because its process ended.
func (e *Eraser) reconstruct(ctx context.Context, a *account) (events.ErasureRequested, error) {
	asked := events.ErasureRequested{Cause: events.CauseRequest, Scope: scopeRecord}
	subject := uint64(0)
	err := e.snapshot(ctx, func(s Snapshot) error {
		for t, err := range tombstonesOf(s, a.aggregate.Tenant, a.aggregate.ID) {
			if err != nil {
				return err
			}
			asked.Tombstone = max(asked.Tombstone, t.Position)
			asked.Matched++
			if t.Kind == events.KindSubject {
				asked.Scope, asked.Subject, subject = scopeSubject, t.Subject, t.Position
			}
		}
		return nil
	})
	if subject != 0 { // what was derived from it has tombstones behind its own
		asked.Tombstone = subject
	}
	if err == nil {
		err = e.recount(ctx, a.aggregate.Tenant, a.aggregate.ID, &asked)
	}
	if err != nil {
		return asked, fmt.Errorf("begin account: %w", err)
	}
	return asked, nil
}
