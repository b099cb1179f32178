package tombstones

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// forgetSubject takes a subject through the saga.
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
	if sid == "" {
		return Erasure{ErasureID: j.erasure, Level: LevelShredded}, nil
	}
	if !j.keyed {
		// Calls without a key that forget the same subject are one erasure,
		// whichever process they run in.
		j.erasure = token.SubjectErasure(j.tenant, sid)
	}
	matched, err := e.count(ctx, j, sid)
	if err != nil {
		return Erasure{}, err
	}
	if err := j.claim(ctx, e.keys, token.Plan{Matched: matched, Subject: sid}); err != nil {
		return Erasure{}, err
	}
	if j.plan != nil {
		sid, matched = j.plan.Subject, j.plan.Matched
	}
	out := Erasure{Matched: matched}
	if out.ErasureID, out.Position, err = e.burySubject(ctx, j, sid); err != nil {
		return Erasure{}, err
	}
	j.subject = sid
	c := e.subjectSaga(j, out.ErasureID, sid, out.Position, func() error {
		return j.tenant.DropSubject(ctx, sid, j.tenant.SubjectHash(name))
	})
	if err := c.deny(ctx, out.Matched, out.Position); err != nil {
		return Erasure{}, err
	}
	out.Level, err = c.finish(ctx)
	return out, err
}

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

// count says how many records are kept of a subject, all that were acknowledged
// before included if the views are not too far behind. It is for the answer
// only: a lagging view must not keep the tombstone waiting.
func (e *Eraser) count(ctx context.Context, j *job, sid string) (int, error) {
	if _, err := e.catchUp(ctx); err != nil && !errors.Is(err, events.ErrBehind) {
		return 0, err
	}
	matched := 0
	err := e.snapshot(ctx, func(s Snapshot) error {
		matched = s.Count(j.token, sid)
		return nil
	})
	return matched, err
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
