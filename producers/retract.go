package producers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// Retract ends a fact, or withdraws a candidate that has been decided on, without
// a replacement. Once it is retracted every retraction has the answer of the first. A fact whose
// key is gone is events.ErrNotFound, like one that never was or is another
// tenant's: without its key nobody can tell.
func (g *Gateway) Retract(ctx context.Context, caller events.Caller, key, fact string, r RetractRequest) (Written, error) {
	now := g.clock()
	if err := permit(caller, events.RoleAgent, events.RoleReviewer, events.RoleAdmin); err != nil {
		return Written{}, err
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate()); err != nil {
		return Written{}, err
	}
	type request struct {
		Fact string `json:"fact"`
		RetractRequest
	}
	cmd := command{name: cmdRetract, principal: caller.Principal, key: key}
	w, err := g.prepare(ctx, caller, cmd, request{token.CanonicalID(fact), r})
	if err != nil {
		return Written{}, err
	}
	rec, n, err := g.find(ctx, w.tenant, fact, events.KindFact)
	if err != nil {
		return Written{}, err
	}
	if err := g.commandRow(ctx, w, rec.Scope()); err != nil {
		return Written{}, err
	}
	done, err := g.turns.take(ctx, n.Aggregate)
	if err != nil {
		return Written{}, err
	}
	defer done()
	return g.retract(ctx, w, rec, n.Aggregate, caller.Trust, r, now)
}

// find finds a record of the tenant by its id, through the row of its key.
func (g *Gateway) find(ctx context.Context, t *seal.Tenant, id string, kind events.Kind) (*seal.Record, token.Note, error) {
	if id = token.CanonicalID(id); id == "" {
		return nil, token.Note{}, events.ErrNotFound
	}
	rec, err := g.keys.Record(ctx, t.Token(), id)
	if gone, ok := errors.AsType[*seal.KeyDestroyedError](err); ok {
		if gone.Level == seal.LevelRecord {
			return nil, token.Note{}, events.ErrNotFound
		}
		return nil, token.Note{}, events.ErrForgotten
	}
	if err != nil {
		return nil, token.Note{}, fmt.Errorf("find record: %w", err)
	}
	n, err := token.ParseNote(rec.Note())
	if err != nil {
		return nil, token.Note{}, fmt.Errorf("find record: %w", err)
	}
	if n.Kind != kind {
		return nil, token.Note{}, events.ErrNotFound
	}
	return rec, n, nil
}

func (g *Gateway) retract(ctx context.Context, w *work, rec *seal.Record, slot string, trust events.Trust, r RetractRequest, now time.Time) (Written, error) {
	content, err := sealContent(rec, events.KindFact, events.TypeFactRetracted, events.RetractionContent{Reason: r.Reason})
	if err != nil {
		return Written{}, err
	}
	s := &slotState{
		aggregate: events.Aggregate{Tenant: w.tenant.Token(), Kind: events.KindFact, ID: slot},
		values:    map[string]jsontext.Value{},
	}
	var retracted uint64
	see := func(r events.Recorded) {
		for _, e := range r.Events {
			if e, ok := e.(events.FactRetracted); ok && e.Fact == rec.ID() && retracted == 0 {
				retracted = r.Position
			}
		}
	}
	for range maxTries {
		if err := g.refresh(ctx, s, see); err != nil {
			return Written{}, err
		}
		subject, err := events.ReadSubject(ctx, g.log, s.aggregate.Tenant, rec.Scope().Subject)
		if err != nil {
			return Written{}, fmt.Errorf("retract fact: %w", err)
		}
		f := s.Find(rec.ID())
		switch {
		case len(subject.Holds) == 0:
		case trust.IsUntrusted():
			return g.concealRetraction(ctx, f)
		default:
			return Written{}, events.ErrHeld
		}
		if done, err := retractable(f, subject.Erasure != "", trust); done || err != nil {
			return Written{Position: retracted}, err
		}
		ack, err := g.log.Append(ctx, events.Commit{
			ID: w.id, Aggregate: s.aggregate, Time: now, Principal: w.principal,
			Events: []events.Event{events.FactRetracted{Fact: f.Fact, Valid: endAt(f.Valid, now), Content: content}},
		}, events.Expect(s.Position))
		switch {
		case err == nil && !ack.Duplicate:
			return Written{Position: ack.Position}, nil
		case err == nil, errors.Is(err, events.ErrConflict):
			runtime.Gosched()
		default:
			return Written{}, fmt.Errorf("append retraction: %w", err)
		}
	}
	return Written{}, fmt.Errorf("append retraction: %w", events.ErrConflict)
}

// retractable says whether the fact has been retracted already, or why it
// cannot be.
func retractable(f *events.SlotFact, subjectForgotten bool, trust events.Trust) (done bool, err error) {
	if f == nil {
		return false, events.ErrNotFound
	}
	if subjectForgotten {
		return false, events.ErrForgotten
	}
	switch f.Status {
	case events.StatusRetracted:
		return true, nil
	case events.StatusDeleted:
		return false, events.ErrForgotten
	case events.StatusRejected:
		if trust > events.TrustTool { // whom it is not told
			return false, events.ErrNotFound // no fact ever had this id
		}
	case events.StatusMerged:
		return false, events.ErrNotFound // neither
	case events.StatusCandidate:
		if f.Decision.Decision == "" {
			return false, events.ErrNotFound // its command is still at work, or was cut off
		}
	case events.StatusActive, events.StatusSuperseded:
	}
	if trust.IsUntrusted() && trust < f.Trust {
		return false, refused("lower_trust", "fact", "must not be of higher trust than an external or tool channel")
	}
	return false, nil
}
