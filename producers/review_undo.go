package producers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// UndoWindow is for how long a review can be taken back, from when the log
// recorded it.
const UndoWindow = 24 * time.Hour

// UndoReview takes back what reviewers made of a candidate. Once it was decided on,
// that is the decision as a whole, with all approvals that it rests on: it waits again
// and is true at no time, and what it had superseded is true again as before. An edit
// is taken back as a whole, by either of its candidates. While it waits for more
// approvals, it is the caller's own, whatever others have said; where none of it stands
// it is an *events.ConflictError. So it is later than [UndoWindow], and of a decision
// when something that is true has changed in the slot since. Who may is who may review.
func (g *Gateway) UndoReview(ctx context.Context, caller events.Caller, key, candidate string) (Written, error) {
	now := g.clock()
	if err := permitReview(caller); err != nil {
		return Written{}, err
	}
	if err := events.CheckIdempotencyKey(key); err != nil {
		return Written{}, err
	}
	v, err := g.newReview(ctx, caller, command{name: cmdUndo, principal: caller.Principal, key: key}, candidate, nil)
	if err != nil {
		return Written{}, err
	}
	if err := g.commandRow(ctx, v.work, v.record.Scope()); err != nil {
		return Written{}, err
	}
	done, err := g.turns.take(ctx, v.slot.aggregate.ID)
	if err != nil {
		return Written{}, err
	}
	defer done()
	for range maxTries {
		past := slotPast{}
		v.slot.Slot = events.Slot{} // all of its history is asked for
		if err := g.refresh(ctx, v.slot, past.see); err != nil {
			return Written{}, err
		}
		if p := past.positionOf(v.id); p != 0 {
			return Written{Position: p}, nil
		}
		list, err := g.undo(ctx, v, &past, now)
		if err != nil {
			return Written{}, err
		}
		r, err := g.appendReview(ctx, v, v.id, now, list)
		if err != nil {
			return Written{}, err
		}
		if r != nil {
			return Written{Position: r.Position}, nil
		}
	}
	return Written{}, fmt.Errorf("undo review: %w", events.ErrConflict)
}

// slotPast is the history of a slot.
type slotPast struct{ commits []events.Recorded }

func (p *slotPast) see(r events.Recorded) { p.commits = append(p.commits, r) }

// positionOf is the position of the commit with the id, 0 if there is none.
func (p *slotPast) positionOf(id string) uint64 {
	for _, r := range p.commits {
		if r.ID == id {
			return r.Position
		}
	}
	return 0
}

// before is the slot as it was before a position.
func (p *slotPast) before(position uint64) *events.Slot {
	var s events.Slot
	for _, r := range p.commits {
		if r.Position < position {
			s.Apply(r)
		}
	}
	return &s
}

// decision is the first commit from a position on that decides on the fact.
func (p *slotPast) decision(fact string, from uint64) *events.Recorded {
	for i := range p.commits {
		r := &p.commits[i]
		if r.Position >= from && slices.ContainsFunc(r.Events, func(e events.Event) bool {
			d, ok := e.(events.FactDecided)
			return ok && d.Fact == fact
		}) {
			return r
		}
	}
	return nil
}

// changedAfter says whether anything that was true has changed after a position.
// That somebody has proposed, and that it waits or was rejected, is no change: or
// else whoever can propose could keep a review from being taken back.
func (p *slotPast) changedAfter(position uint64) bool {
	for _, r := range p.commits {
		if r.Position > position && slices.ContainsFunc(r.Events, changesTruth) {
			return true
		}
	}
	return false
}

func changesTruth(e events.Event) bool {
	switch e := e.(type) {
	case events.FactDecided:
		return e.Decision == events.DecisionPromote
	case events.FactPromoted, events.FactSuperseded, events.FactCorroborated, events.FactRetracted, events.FactSourceLost,
		events.FactForgotten, events.FactRestored:
		return true
	default:
		return false
	}
}

// undo are the events that take back what reviewers made of a candidate.
func (g *Gateway) undo(ctx context.Context, v *review, past *slotPast, now time.Time) ([]events.Event, error) {
	f := v.asWhole(v.slot.Find(v.fact))
	if err := g.shown(ctx, v, f); err != nil {
		return nil, err
	}
	standing := f.Standing()
	if len(standing) == 0 {
		return nil, v.conflict()
	}
	last := &standing[len(standing)-1]
	if f.Status == events.StatusCandidate && last.Into == "" {
		return v.withdrawal(f, standing, now)
	}
	end, at, recorded := last.Position, last.Position, last.RecordedAt
	if r := past.decision(f.Fact, last.Position); r != nil && f.Status != events.StatusCandidate {
		end, at, recorded = r.Position, r.Position, r.RecordedAt
	}
	if past.changedAfter(end) || now.Sub(recorded) > UndoWindow {
		return nil, v.conflict()
	}
	was := past.before(at)
	before := was.Find(f.Fact)
	if before == nil || before.Decision.Decision == "" {
		return nil, v.conflict()
	}
	list := []events.Event{events.FactReopened{Fact: f.Fact}, before.Decision}
	if last.Into != "" {
		dropped, err := g.dropEdited(ctx, v, last.Into, now)
		if err != nil {
			return nil, err
		}
		list = append(list, dropped...)
	}
	return append(list, restored(past, was, at)...), nil
}

// withdrawal takes back what the reviewer has said of a candidate that waits.
func (v *review) withdrawal(f *events.SlotFact, standing []events.Review, now time.Time) ([]events.Event, error) {
	for _, r := range slices.Backward(standing) {
		if r.Reviewer == v.principal && now.Sub(r.RecordedAt) <= UndoWindow {
			return []events.Event{events.FactReopened{Fact: f.Fact}, f.Decision}, nil
		}
	}
	return nil, v.conflict() // it is another's to take back, or too late
}

// asWhole is the candidate whose review is taken back: what an edit made goes with
// the edit, until somebody else has reviewed it too.
func (v *review) asWhole(f *events.SlotFact) *events.SlotFact {
	if f == nil || f.Edits == "" {
		return f
	}
	old := v.slot.Find(f.Edits)
	if old == nil || len(f.Standing()) > 1 {
		return f
	}
	if n := len(old.Reviews); n > 0 && old.Reviews[n-1].Into == f.Fact {
		return old
	}
	return f
}

// restored are the events that give back what the commit at a position took from
// other facts, and take back what it gave them.
func restored(past *slotPast, was *events.Slot, at uint64) []events.Event {
	var list []events.Event
	for _, r := range past.commits {
		if r.Position != at {
			continue
		}
		for _, e := range r.Events {
			switch e := e.(type) {
			case events.FactSuperseded:
				if f := was.Find(e.Fact); f != nil {
					by := ""
					if f.Status == events.StatusSuperseded {
						by = f.SupersededBy
					}
					list = append(list, events.FactRestored{Fact: f.Fact, Valid: f.Valid, By: by})
				}
			case events.FactCorroborated:
				list = append(list, uncorroborated(was.Find(e.Fact), e)...)
			default:
			}
		}
	}
	return list
}

// uncorroborated takes the sources from a fact that it got with a candidate and
// did not have before. Nothing of them was erased.
func uncorroborated(f *events.SlotFact, e events.FactCorroborated) []events.Event {
	if f == nil {
		return nil
	}
	var list []events.Event
	for _, src := range e.Sources {
		if !slices.ContainsFunc(f.Sources, func(had events.SourceRef) bool { return had.Episode == src.Episode }) {
			list = append(list, events.FactSourceLost{Fact: f.Fact, Source: src.Episode})
		}
	}
	return list
}

// dropEdited turns down the candidate that an edit made.
func (g *Gateway) dropEdited(ctx context.Context, v *review, edited string, now time.Time) ([]events.Event, error) {
	f := v.slot.Find(edited)
	if f == nil || f.Status == events.StatusDeleted {
		return nil, v.conflict()
	}
	content, _, err := g.openFact(ctx, v.slot.aggregate.Tenant, f)
	if err != nil {
		return nil, err
	}
	basis := f.Decision.Basis
	basis.Reviews = append(slices.Clone(basis.Reviews), events.ReviewBasis{Reviewer: v.principal, Verdict: events.VerdictReject})
	basis.At = now
	var by *policy.Policy
	if by, err = g.policyOf(ctx, v.slot.aggregate.Tenant); err != nil {
		return nil, err
	}
	return []events.Event{
		events.FactReopened{Fact: edited},
		Judge(Case{Candidate: f.FactProposed, Content: content, Basis: basis}, by),
	}, nil
}
