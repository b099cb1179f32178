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
	"github.com/annals-memory/annals/tombstones/suppression"
)

// maxTries bounds how often a command decides again because another one was
// faster on its slot. Each time somebody made progress, and no command needs
// more than a few commits.
const maxTries = 200

// Propose adds a candidate to its slot, and then decides on it in a commit of
// its own. A candidate that is not promoted is an answer, not an error. To a caller
// of an external or tool channel that answer is always the same, see [uniform]; also
// while the subject is under a legal hold, when nothing is decided and mostly nothing
// written: the same call under its key does it after that.
//
// If the request names the fact that it takes to be current, and another one is,
// the error is a *events.ConflictError: nothing was written, or, if the other one
// came only after the candidate, the candidate is rejected.
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
	if err := g.admit(ctx, w.tenant, "value", suppression.Value(r.Predicate, r.Value)); err != nil {
		_, out := errors.AsType[*events.InputError](err)
		if !out || !caller.Trust.IsUntrusted() {
			return Proposed{}, err
		}
		r = emptied(r) // what is kept out is not told, nor kept
	}
	w.subject = r.Subject
	w.category = classOf(w.tenant, r.Category)
	w.locate = func(sid string) (events.Kind, string) {
		return events.KindFact, token.Slot(w.tenant, sid, r.Predicate, r.Scope)
	}
	if err := g.begin(ctx, w); err != nil {
		return g.concealHold(ctx, caller, w, err)
	}
	p, err := g.newProposal(w, r, caller.Trust)
	if err != nil {
		return Proposed{}, err
	}
	if !caller.Trust.IsUntrusted() { // whom it would tell what is there
		p.supersedes = token.CanonicalID(r.Supersedes)
	}
	p.hearing = g.hearing(ctx, w.tenant.Token(), w.principal, caller.Trust, events.TrustExternal, now)
	p.named = r.Traces
	done, err := g.turns.take(ctx, p.slot.aggregate.ID)
	if err != nil {
		return Proposed{}, err
	}
	defer done()
	a, err := g.propose(ctx, p, now)
	switch {
	case err != nil:
		return g.concealHold(ctx, caller, w, err)
	case caller.Trust.IsUntrusted():
		return uniform(a), nil
	}
	return a, nil
}

// proposal is a candidate on its way into its slot.
type proposal struct {
	*work
	slot      *slotState
	candidate events.FactProposed
	content   events.FactContent
	value     jsontext.Value // canonical
	sources   []string
	// supersedes is the fact that the caller takes to be current, "" for no opinion.
	supersedes string
	// named are the recalls that the request names, and hearing finds what they mean.
	named   []string
	hearing *hearing
	// context is what the candidate may have been made from; nil until it is known.
	context *heard
	// before is what the log said of the sources before the candidate was
	// written; nil if it was in the log already.
	before []Evidence
	// decided is the first commit that decides on the candidate, once it is in
	// the log.
	decided *events.Recorded
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
	content := events.FactContent{
		Subject: r.Subject, Predicate: r.Predicate, Value: stored, Category: r.Category,
		Scope: r.Scope, Provenance: r.Provenance,
	}
	sealed, err := sealContent(w.rec, events.KindFact, events.TypeFactProposed, content)
	if err != nil {
		return nil, err
	}
	t, scope := w.tenant, w.rec.Scope()
	_, slot := w.locate(scope.Subject)
	return &proposal{
		work: w, content: content, value: value, sources: r.SourceEpisodes,
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
			Guard:      g.scan(content),
			Content:    sealed,
		},
	}, nil
}

// propose brings the candidate into the log, unless it is there, and decides on
// it. Both are appended under the position that was read, again and again until
// nobody was faster.
//
// The candidate has its commit to itself, so that its sealed content can be
// removed from the log without anything that the decision says about other
// facts.
func (g *Gateway) propose(ctx context.Context, p *proposal, now time.Time) (Proposed, error) {
	lasting := context.WithoutCancel(ctx)
	isCurrent := false // the slot is as the log has it, for all that is known
	for range maxTries {
		if !isCurrent {
			if err := g.refresh(ctx, p.slot, p.see); err != nil {
				return Proposed{}, err
			}
		}
		f := p.slot.Find(p.id)
		switch {
		case f == nil:
			if p.isStale(p.candidate) {
				return Proposed{}, p.conflict()
			}
			var err error
			if isCurrent, err = g.appendCandidate(ctx, p, now); err != nil {
				return Proposed{}, err
			}
			continue
		case f.Status == events.StatusDeleted,
			p.decided == nil && f.Status != events.StatusCandidate, // which nobody does
			!p.opens(events.KindFact, events.TypeFactProposed, f.Content):
			return Proposed{}, g.forgotten(ctx, p.work)
		}
		// The candidate is there: whether or not the caller waits, it is decided on.
		ctx = lasting //nolint:fatcontext // It is the same one each time.
		if p.decided != nil {
			return g.decidedBefore(ctx, p)
		}
		on, err := g.groundsFor(ctx, p)
		if err != nil {
			return Proposed{}, err
		}
		if isCurrent, err = g.decide(ctx, p, f, on, now); err != nil {
			return Proposed{}, err
		}
		if isCurrent {
			return g.answer(ctx, p, on.evidence)
		}
	}
	return Proposed{}, fmt.Errorf("propose fact: %w", events.ErrConflict)
}

// groundsFor is what the log says of the candidate's sources, subject and policy.
func (g *Gateway) groundsFor(ctx context.Context, p *proposal) (grounds, error) {
	return g.groundsOf(ctx, p.slot.aggregate.Tenant, p.candidate.Subject, p.candidate.Class, p.sources)
}

// see keeps the first decision on the candidate when it passes by. In a log of
// an earlier version it is in the candidate's own commit.
func (p *proposal) see(r events.Recorded) {
	if p.decided != nil {
		return
	}
	for _, e := range r.Events {
		if e, ok := e.(events.FactDecided); ok && e.Fact == p.id {
			p.decided = &r
		}
	}
}

// appendCandidate appends the candidate alone, with the sources and the trust
// that the log gives it now, and says whether it did: if another commit was
// faster, the slot has to be read.
func (g *Gateway) appendCandidate(ctx context.Context, p *proposal, now time.Time) (bool, error) {
	if p.before == nil {
		heardBy := later(func() (heard, error) { return p.hearing.of(ctx, p.named, p.content.Provenance...) })
		on, err := g.groundsFor(ctx, p)
		if err != nil {
			return false, err
		}
		context, err := heardBy()
		if err != nil {
			return false, err
		}
		p.before, p.context = on.evidence, &context
		p.candidate = Supported(p.candidate, on.evidence, context.lowest)
		p.candidate.Traces = context.traces
	}
	return g.appendTo(ctx, p, p.id, now, []events.Event{p.candidate})
}

// decide appends the decision on the candidate as it stands in the slot, and
// says whether it did: if another commit was faster, the slot has to be read.
func (g *Gateway) decide(ctx context.Context, p *proposal, f *events.SlotFact, on grounds, now time.Time) (bool, error) {
	if err := g.openValues(ctx, p.slot); err != nil {
		return false, err
	}
	if p.context == nil { // an earlier attempt has written the candidate
		context, err := p.hearing.from(ctx, f.Traces)
		if err != nil {
			return false, err
		}
		p.context = &context
	}
	c := Case{Candidate: f.FactProposed, Content: p.content, Basis: events.Basis{
		Evidence: EvidenceBasis(f.Subject, on.evidence), Context: p.context.lowest, Consent: on.consent,
		Guard: g.scan(p.content), At: now,
	}}
	if p.isStale(f.FactProposed) {
		c.Basis.Conflict = ReasonStaleVersion
	}
	list := Decide(&p.slot.Slot, c, p.slot.equalTo(p.value, now), on.policy)
	return g.appendTo(ctx, p, token.Decision(p.id), now, list)
}

// appendTo appends a commit to the slot as it was read and folds it. It says
// whether it did: not if the slot is elsewhere, or has this very commit.
func (g *Gateway) appendTo(ctx context.Context, p *proposal, id string, now time.Time, list []events.Event) (bool, error) {
	if err := g.unheld(ctx, p.slot.aggregate.Tenant, p.candidate.Subject); err != nil {
		return false, err
	}
	c := events.Commit{ID: id, Aggregate: p.slot.aggregate, Time: now, Principal: p.principal, Events: list}
	ack, err := g.log.Append(ctx, c, events.Expect(p.slot.Position))
	switch {
	case errors.Is(err, events.ErrConflict), err == nil && ack.Duplicate:
		runtime.Gosched()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("append fact: %w", err)
	}
	// When the log recorded it is not told, and nothing here asks for it.
	r := events.Recorded{Commit: c, Position: ack.Position}
	p.slot.Apply(r)
	p.see(r)
	return true, nil
}

// answer is the answer to a command that has just decided, on the evidence.
//
// The evidence was read when the candidate was in the log. So a source whose
// forget could not find the candidate has its tombstone in it, and is taken from
// the candidate here; a forget that came later finds the candidate.
func (g *Gateway) answer(ctx context.Context, p *proposal, evidence []Evidence) (Proposed, error) {
	a := answerOf(p.decided.Events, p.id)
	a.Position = p.decided.Position
	if wasStale(a.Gates) {
		return Proposed{}, p.conflict()
	}
	if p.before != nil && !slices.ContainsFunc(p.before, func(e Evidence) bool { return e.isAlive() }) {
		return a, nil // it never had a source that could be lost
	}
	position, err := g.dropLost(ctx, p, evidence)
	if err != nil {
		return Proposed{}, err
	}
	a.Position = max(a.Position, position)
	return a, nil
}

// decidedBefore is the answer to a command that has been decided before: the
// first answer, whatever became of the fact, unless it was forgotten.
func (g *Gateway) decidedBefore(ctx context.Context, p *proposal) (Proposed, error) {
	on, err := g.groundsFor(ctx, p)
	if err != nil {
		return Proposed{}, err
	}
	a := answerOf(p.decided.Events, p.id)
	a.Position = p.decided.Position
	if _, err := g.dropLost(ctx, p, p.lostSince(on.evidence)); err != nil {
		return Proposed{}, err
	}
	if wasStale(a.Gates) {
		return Proposed{}, p.conflict()
	}
	return a, nil
}

// lostSince is the evidence without the sources that had a tombstone when the
// candidate was written: it never had them. Those have no position in it; in a log
// of an earlier version none has.
func (p *proposal) lostSince(evidence []Evidence) []Evidence {
	f := p.slot.Find(p.id)
	if f == nil || f.Decision.Basis.IsZero() {
		return evidence
	}
	return slices.DeleteFunc(slices.Clone(evidence), func(e Evidence) bool {
		return slices.ContainsFunc(f.Sources, func(s events.SourceRef) bool { return s.Episode == e.Ref.Episode && s.At == 0 })
	})
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
		return ack.Position, g.destroyLost(ctx, p, list)
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
