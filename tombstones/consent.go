package tombstones

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// WithdrawConsent takes back a subject's consent to one category, and forgets what
// was kept under it until then: episodes and facts of the category about the
// subject, and what was derived from them alone. Taking it back again forgets what
// has come since. A category that mixes scripts is an *events.InputError, as where it
// is granted, unless an earlier version let it be: that can be taken back still. The
// errors are those of [Eraser.Hold]; after one of them the same
// call, or [Eraser.Run] at the next start, completes it.
func (e *Eraser) WithdrawConsent(ctx context.Context, caller events.Caller, subject, category string) (Erasure, error) {
	if !mayForget(caller) {
		return Erasure{}, events.ErrForbidden
	}
	if err := checkName("subject", subject); err != nil {
		return Erasure{}, err
	}
	if err := checkName("category", category); err != nil {
		return Erasure{}, err
	}
	t, sid, err := e.known(ctx, caller, subject)
	if err != nil {
		return Erasure{}, err
	}
	if err := e.withdrawable(ctx, t, sid, category); err != nil {
		return Erasure{}, err
	}
	principal, erasure := token.Principal(t, caller.Principal), e.newID()
	withdrawn := events.ConsentWithdrawn{Category: token.Category(t, category), Erasure: erasure}
	s, err := e.changeSubject(ctx, t, sid, principal, func(*events.SubjectState) []events.Event {
		return []events.Event{withdrawn}
	})
	if err != nil {
		return Erasure{}, err
	}
	if err := e.copySubject(ctx, t.Token(), sid); err != nil {
		return Erasure{}, err
	}
	if err := e.wait(ctx, s.Position); err != nil {
		return Erasure{}, err
	}
	return e.withdraw(ctx, t, sid, principal, withdrawn, s.Position)
}

// withdrawable refuses a category whose name mixes scripts and that was never granted.
func (e *Eraser) withdrawable(ctx context.Context, t *seal.Tenant, sid, category string) error {
	if !token.MixesScripts(token.CategoryName(category)) {
		return nil
	}
	s, err := events.ReadSubject(ctx, e.log, t.Token(), sid)
	if err != nil {
		return fmt.Errorf("read subject: %w", err)
	}
	if _, known := s.Consents[token.Category(t, category)]; known {
		return nil
	}
	return &events.InputError{
		Kind: events.Malformed, Code: "mixed_scripts", Field: "category", Rule: "must not mix the letters of several scripts",
	}
}

// withdraw forgets what was kept under a consent before it was withdrawn, which the
// views must have folded.
func (e *Eraser) withdraw(
	ctx context.Context, t *seal.Tenant, sid, principal string, w events.ConsentWithdrawn, position uint64,
) (Erasure, error) {
	j := &job{
		tenant: t, token: t.Token(), principal: principal, erasure: w.Erasure,
		cause: events.CauseConsent, scope: scopeCategory, subject: sid,
	}
	var targets []target
	err := e.snapshot(ctx, func(s Snapshot) error {
		records, err := s.Match(ctx, j.token, Match{Subject: sid, Categories: []string{w.Category}})
		if err != nil {
			return fmt.Errorf("match records: %w", err)
		}
		for _, r := range records {
			if r.Position < position {
				targets = append(targets, target{Record: r})
			}
		}
		return nil
	})
	if err != nil {
		return Erasure{}, err
	}
	return e.forget(ctx, j, distinct(targets))
}

// resumeWithdrawal forgets under a consent that was withdrawn, if its process ended
// before it had begun to. What it had begun is that of the tombstones.
func (e *Eraser) resumeWithdrawal(ctx context.Context, j *job, sid string, w events.ConsentWithdrawn, position uint64) error {
	a := accountOf(j.token, w.Erasure)
	if err := e.readAccount(ctx, a); err != nil {
		return err
	}
	if a.state.Known() {
		return nil
	}
	if err := e.folded(ctx, position); err != nil {
		return err
	}
	_, err := e.withdraw(ctx, j.tenant, sid, j.principal, w, position)
	return err
}
