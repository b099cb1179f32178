package tombstones

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// forgetSubject takes a subject through the saga. What it answers is what the
// account says, whoever has begun that.
func (e *Eraser) forgetSubject(ctx context.Context, j *job, name string) (Erasure, error) {
	sid, err := j.tenant.SubjectID(ctx, name, false)
	unknown := errors.Is(err, seal.ErrUnknownSubject)
	if err != nil && !unknown {
		return Erasure{}, fmt.Errorf("find subject: %w", err)
	}
	if unknown {
		// That there was nothing is written down too: a late repetition must
		// not reach a subject that the name stands for by then.
		if err := j.claim(ctx, e.keys, token.Plan{}); err != nil {
			return Erasure{}, err
		}
	}
	if j.plan != nil {
		sid = j.plan.Subject // the name may stand for another subject by now
	}
	var before *Tally
	if sid != "" {
		if before, err = e.tally(ctx, j, sid); err != nil {
			return Erasure{}, err
		}
	}
	if !j.keyed {
		done, err := e.byName(ctx, j, name, sid)
		if err != nil {
			return Erasure{}, err
		}
		if sid == "" && done != nil {
			return e.doneByName(ctx, done)
		}
	}
	if sid == "" {
		return nothing(), nil
	}
	plan := token.Plan{Subject: sid}
	if before != nil {
		plan.Matched = before.Episodes + before.Facts
	}
	if err := j.claim(ctx, e.keys, plan); err != nil {
		return Erasure{}, err
	}
	if j.plan != nil && j.plan.Subject != sid {
		sid, before = j.plan.Subject, nil
	}
	if sid == "" { // the same call was faster, before there was such a subject
		return nothing(), nil
	}
	erasure, position, err := e.burySubject(ctx, j, sid)
	if err != nil {
		return Erasure{}, err
	}
	j.subject = sid
	c := e.subjectSaga(j, erasure, sid, position, func() error {
		return j.tenant.DropSubject(ctx, sid, j.tenant.SubjectHash(name))
	})
	if err := e.readAccount(ctx, c.account); err != nil {
		return Erasure{}, err
	}
	matched := c.account.state.Matched
	if !c.account.state.Known() {
		if matched, err = e.matchedBy(ctx, j.token, sid, position, before); err != nil {
			return Erasure{}, err
		}
	}
	if err := c.deny(ctx, matched, position); err != nil {
		return Erasure{}, err
	}
	level, err := c.finish(ctx)
	if err != nil {
		return Erasure{}, err
	}
	out := answerOf(c.account)
	out.Level = level
	return out, nil
}

// doneByName answers for a subject that was forgotten before, and whose name leads
// nowhere any more. What was cut off behind that is finished.
func (e *Eraser) doneByName(ctx context.Context, a *account) (Erasure, error) {
	if a.state.Level.AtLeast(LevelShredded) {
		return answerOf(a), nil
	}
	driven, err := e.drive(ctx, a.key())
	if err != nil {
		return Erasure{}, err
	}
	if driven == nil { // nothing of the tenant is left
		return answerOf(a), nil
	}
	return answerOf(driven), nil
}

// answerOf is what a forget of a whole subject answers with.
func answerOf(a *account) Erasure {
	return Erasure{
		ErasureID: a.aggregate.ID, Matched: a.state.Matched, Position: a.state.Tombstone, Level: shown(a.state.Level),
	}
}

// nothing is the answer to a forget that matched nothing: nothing of it is shown,
// and there is no erasure.
func nothing() Erasure { return Erasure{Level: LevelDenied} }

// byName gives a forget without an idempotency key the id of its erasure: the same
// for all that forget this subject, whichever process they run in, and one that the
// name alone leads to when the subject is forgotten and nothing else is left of it.
// A name that was forgotten before, as that of other subjects, counts on. Without a
// subject it returns the account of the last erasure by the name, nil if there is
// none.
func (e *Eraser) byName(ctx context.Context, j *job, name, sid string) (last *account, err error) {
	for n := 0; ; n++ {
		id := token.Erasure(j.tenant, commandByName, "", j.tenant.SubjectHash(name)+"."+strconv.Itoa(n))
		a := accountOf(j.token, id)
		if err := e.readAccount(ctx, a); err != nil {
			return nil, err
		}
		known := a.state.Known()
		if sid == "" {
			if !known {
				return last, nil
			}
			last = a
			continue
		}
		other := a.state.Subject != sid
		if !known {
			if other, err = e.buriesOther(ctx, a, sid); err != nil {
				return nil, err
			}
		}
		if !other {
			j.erasure = id
			return nil, nil //nolint:nilnil // The id is the answer.
		}
	}
}

// ErasureByName returns the id that a forget of a subject without an idempotency key
// has, or had if nothing of that name is left, and whether it has an account; "" if
// there was none. The errors are those of [Eraser.Status].
func (e *Eraser) ErasureByName(ctx context.Context, caller events.Caller, subject string) (id string, begun bool, err error) {
	if !caller.Has(events.RoleAgent, events.RoleAdmin) {
		return "", false, events.ErrForbidden
	}
	if err := checkName("subject", subject); err != nil {
		return "", false, err
	}
	j, err := e.begin(ctx, caller, "", "", nil)
	if err != nil || j.tenant == nil {
		return "", false, err
	}
	sid, err := j.tenant.SubjectID(ctx, subject, false)
	if err != nil && !errors.Is(err, seal.ErrUnknownSubject) {
		return "", false, fmt.Errorf("find subject: %w", err)
	}
	last, err := e.byName(ctx, j, subject, sid)
	switch {
	case err != nil:
		return "", false, err
	case sid != "":
		a := accountOf(j.token, j.erasure)
		err := e.readAccount(ctx, a)
		return j.erasure, a.state.Known(), err
	case last == nil:
		return "", false, nil
	}
	return last.aggregate.ID, true, nil
}

// buriesOther reports whether an erasure, which has no account yet, has its
// tombstone on another subject: its process ended in between, and the name was
// given away since.
func (e *Eraser) buriesOther(ctx context.Context, a *account, sid string) (other bool, err error) {
	err = e.snapshot(ctx, func(s Snapshot) error {
		for t, err := range tombstonesOf(s, a.aggregate.Tenant, a.aggregate.ID) {
			if err != nil {
				return err
			}
			other = other || t.Kind == events.KindSubject && t.ID != sid
		}
		return nil
	})
	return other, err
}

// commandByName is what the ids of erasures by name are derived from. It is for
// ever.
const commandByName = "forget_subject_by_name"

// subjectSaga takes a whole subject through the levels.
func (e *Eraser) subjectSaga(j *job, erasure, sid string, position uint64, dropName func() error) *saga {
	s := e.newSaga(j, erasure)
	s.gone.subjects[sid] = true
	s.subject, s.dropName = sid, dropName
	s.graves = []ledger.Tombstone{{
		Tenant: j.token, Kind: events.KindSubject, Aggregate: sid, Subject: sid, Erasure: erasure, Position: position,
	}}
	return s
}

// burySubject appends the tombstone of a subject, or finds the one that is there.
func (e *Eraser) burySubject(ctx context.Context, j *job, sid string) (erasure string, position uint64, err error) {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindSubject, ID: sid}
	for range maxTries {
		s, err := events.ReadSubject(ctx, e.log, j.token, sid)
		if err != nil {
			return "", 0, fmt.Errorf("bury subject: %w", err)
		}
		if s.Erasure != "" {
			return s.Erasure, s.Tombstone, nil
		}
		c := e.commit(j, agg, s.Position, []events.Event{events.SubjectForgotten{Erasure: j.erasure}})
		ack, err := e.log.Append(ctx, c, events.Expect(s.Position))
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		if err != nil {
			return "", 0, fmt.Errorf("append tombstone: %w", err)
		}
		return j.erasure, ack.Position, nil
	}
	return "", 0, fmt.Errorf("append tombstone: %w", events.ErrConflict)
}
