package producers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// maxTries bounds how often a command decides again because another one was
// faster on its slot. Each time somebody made progress.
const maxTries = 100

// Propose adds a candidate to its slot and decides on it, in one commit. A
// candidate that is not promoted is an answer, not an error.
func (g *Gateway) Propose(ctx context.Context, caller events.Caller, key string, r ProposeRequest) (Proposed, error) {
	now := g.clock()
	if err := permit(caller, events.RoleAgent, events.RoleAdmin); err != nil {
		return Proposed{}, err
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate(now)); err != nil {
		return Proposed{}, err
	}
	w, err := g.prepare(ctx, caller, command{name: cmdPropose, principal: caller.Principal, key: key}, r)
	if err != nil {
		return Proposed{}, err
	}
	w.subject = r.Subject
	w.category = classOf(w.tenant, r.Category)
	w.locate = func(sid string) (events.Kind, string) {
		return events.KindFact, token.Slot(w.tenant, sid, r.Predicate, r.Scope)
	}
	if err := g.begin(ctx, w); err != nil {
		return Proposed{}, err
	}
	p, err := g.newProposal(w, r, caller.Trust)
	if err != nil {
		return Proposed{}, err
	}
	done, err := g.turns.take(ctx, p.slot.aggregate.ID)
	if err != nil {
		return Proposed{}, err
	}
	defer done()
	return g.propose(ctx, p, now)
}

// proposal is a candidate on its way into its slot.
type proposal struct {
	*work
	slot      *slotState
	candidate events.FactProposed
	value     jsontext.Value // canonical
	sources   []string
	// own is the commit of this very command, once it is in the log.
	own *events.Recorded
}

func (g *Gateway) newProposal(w *work, r ProposeRequest, trust events.Trust) (*proposal, error) {
	value, err := token.Canonical(r.Value)
	if err != nil {
		return nil, fmt.Errorf("encode value: %w", err)
	}
	stored := r.Value.Clone()
	if err := stored.Compact(); err != nil {
		return nil, fmt.Errorf("encode value: %w", events.ErrInvalid)
	}
	content, err := sealContent(w.rec, events.KindFact, events.TypeFactProposed, events.FactContent{
		Subject: r.Subject, Predicate: r.Predicate, Value: stored, Category: r.Category,
		Scope: r.Scope, Provenance: r.Provenance,
	})
	if err != nil {
		return nil, err
	}
	t, scope := w.tenant, w.rec.Scope()
	_, slot := w.locate(scope.Subject)
	return &proposal{
		work: w, value: value, sources: r.SourceEpisodes,
		slot: &slotState{
			aggregate: events.Aggregate{Tenant: t.Token(), Kind: events.KindFact, ID: slot},
			values:    map[string]jsontext.Value{},
		},
		candidate: events.FactProposed{
			Fact: w.id, Subject: scope.Subject, Class: scope.Class,
			Predicate: token.Predicate(t, r.Predicate), Scope: token.Scope(t, r.Scope), Category: scope.Class,
			Confidence: *r.Confidence, Trust: trust,
			ObservedAt: events.Micro(r.ObservedAt.Time),
			ValidFrom:  events.Micro(r.ValidFrom.Or(time.Time{})),
			ValidTo:    events.Micro(r.ValidTo.Or(time.Time{})),
			ExpiresAt:  events.Micro(r.ExpiresAt.Or(time.Time{})),
			Content:    content,
		},
	}, nil
}

// propose decides and appends under the position it decided on, again and
// again until nobody was faster.
func (g *Gateway) propose(ctx context.Context, p *proposal, now time.Time) (Proposed, error) {
	for range maxTries {
		if err := g.refresh(ctx, p.slot, p.see); err != nil {
			return Proposed{}, err
		}
		if p.slot.Find(p.id) != nil {
			return g.proposedBefore(ctx, p)
		}
		ack, evidence, err := g.tryPropose(ctx, p, now)
		if errors.Is(err, events.ErrConflict) || err == nil && ack.Duplicate {
			runtime.Gosched()
			continue // if it is this very command's commit, it is seen now
		}
		if err != nil {
			return Proposed{}, err
		}
		position, err := g.dropLostSources(ctx, p, evidence)
		if err != nil {
			return Proposed{}, err
		}
		answer := answerOf(p.own.Events, p.id)
		answer.Position = max(ack.Position, position)
		return answer, nil
	}
	return Proposed{}, fmt.Errorf("propose fact: %w", events.ErrConflict)
}

// see keeps the commit of this very command when it passes by.
func (p *proposal) see(r events.Recorded) {
	if r.ID == p.id {
		p.own = &r
	}
}

// tryPropose decides on the slot as it was read and appends the decision.
func (g *Gateway) tryPropose(ctx context.Context, p *proposal, now time.Time) (events.Ack, []Evidence, error) {
	evidence, err := g.evidence(ctx, p.slot.aggregate.Tenant, p.sources)
	if err != nil {
		return events.Ack{}, nil, err
	}
	if err := g.openValues(ctx, p.slot); err != nil {
		return events.Ack{}, nil, err
	}
	c := events.Commit{
		ID: p.id, Aggregate: p.slot.aggregate, Time: now, Principal: p.principal,
		Events: Decide(&p.slot.Slot, p.candidate, evidence, p.slot.equalTo(p.value, now), g.policy),
	}
	ack, err := g.log.Append(ctx, c, events.Expect(p.slot.Position))
	if err != nil {
		return events.Ack{}, nil, fmt.Errorf("append fact: %w", err)
	}
	if !ack.Duplicate {
		p.own = &events.Recorded{Commit: c, Position: ack.Position}
	}
	return ack, evidence, nil
}

// proposedBefore is the answer to a command that is in the log already: the
// first answer, unless it was forgotten since.
func (g *Gateway) proposedBefore(ctx context.Context, p *proposal) (Proposed, error) {
	f := p.slot.Find(p.id)
	if f.Status == events.StatusDeleted || p.own == nil || !p.opens(events.KindFact, events.TypeFactProposed, f.Content) {
		return Proposed{}, g.forgotten(ctx, p.work)
	}
	evidence, err := g.evidence(ctx, p.slot.aggregate.Tenant, p.sources)
	if err != nil {
		return Proposed{}, err
	}
	answer := answerOf(p.own.Events, p.id)
	answer.Position = p.own.Position
	if _, err := g.dropLost(ctx, p, evidence); err != nil {
		return Proposed{}, err
	}
	return answer, nil
}

// answerOf reads the answer off the events of the commit.
func answerOf(list []events.Event, candidate string) Proposed {
	p := Proposed{CandidateID: candidate, Superseded: []string{}}
	for _, e := range list {
		switch e := e.(type) {
		case events.FactDecided:
			p.Decision, p.FactID, p.Gates, p.Policy = e.Decision, e.Into, e.Gates, e.Policy
		case events.FactSuperseded:
			p.Superseded = append(p.Superseded, e.Fact)
		default:
		}
	}
	return p
}

// dropLostSources asks the log about the sources once more after the append,
// for one may have been forgotten between the decision and the append, when
// the forget could not know of the fact yet. A forget that comes later finds
// the fact in the log. It goes on when the caller has given up, for the fact is
// there already.
func (g *Gateway) dropLostSources(ctx context.Context, p *proposal, before []Evidence) (uint64, error) {
	ctx = context.WithoutCancel(ctx)
	if !slices.ContainsFunc(before, func(e Evidence) bool { return e.Found && !e.Forgotten }) {
		return 0, nil
	}
	after, err := g.evidence(ctx, p.slot.aggregate.Tenant, p.sources)
	if err != nil {
		return 0, err
	}
	return g.dropLost(ctx, p, after)
}

// dropLost takes the forgotten sources from the facts of the slot that have
// them because of this candidate. A fact that has no other is forgotten.
func (g *Gateway) dropLost(ctx context.Context, p *proposal, evidence []Evidence) (uint64, error) {
	lost := make(map[string]string) // episode to its erasure
	for _, e := range evidence {
		if e.Found && e.Forgotten {
			lost[e.Ref.Episode] = e.Erasure
		}
	}
	if len(lost) == 0 {
		return 0, nil
	}
	for range maxTries {
		if err := g.refresh(ctx, p.slot, p.see); err != nil {
			return 0, err
		}
		affected := p.affected()
		list := p.slot.Losses(
			func(f *events.SlotFact) bool { return slices.Contains(affected, f.Fact) },
			func(src events.SourceRef) (string, bool) {
				erasure, gone := lost[src.Episode]
				return erasure, gone
			})
		if len(list) == 0 {
			return 0, nil
		}
		ack, err := g.log.Append(ctx, events.Commit{
			ID: g.newID(), Aggregate: p.slot.aggregate, Time: g.clock(), Principal: p.principal, Events: list,
		}, events.Expect(p.slot.Position))
		if errors.Is(err, events.ErrConflict) {
			runtime.Gosched()
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("append lost source: %w", err)
		}
		if err := g.keys.DestroyRecord(ctx, p.slot.aggregate.Tenant, forgottenIn(list)...); err != nil {
			return 0, fmt.Errorf("destroy fact key: %w", err)
		}
		return ack.Position, nil
	}
	return 0, fmt.Errorf("append lost source: %w", events.ErrConflict)
}

// affected are the facts that this candidate gave its sources to.
func (p *proposal) affected() []string {
	ids := []string{p.id}
	if f := p.slot.Find(p.id); f != nil && f.Decision.Into != "" && f.Decision.Into != p.id {
		ids = append(ids, f.Decision.Into)
	}
	return ids
}

// forgottenIn are the ids of the facts that the events forget.
func forgottenIn(list []events.Event) []string {
	var ids []string
	for _, e := range list {
		if e, ok := e.(events.FactForgotten); ok {
			ids = append(ids, e.Fact)
		}
	}
	return ids
}

// isDestroyed says whether a key of the chain is gone.
func isDestroyed(err error) bool { return errors.Is(err, seal.ErrKeyDestroyed) }
