package producers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers/policy"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Edit replaces a candidate that waits by one that says what the reviewer makes of
// it, and approves that. The one before is rejected. What is edited has the trust
// of a person who has looked at it. The rules are those of [Gateway.Approve]. An
// edit that the gates reject is an *events.InputError that names the gate, and the
// one before waits still.
//
// Like every candidate the new one has a commit to itself. If the command is cut
// off behind it, the same command under its key goes on; nothing else does, and
// the one before waits still.
func (g *Gateway) Edit(ctx context.Context, caller events.Caller, key, candidate string, r ReviewRequest) (Reviewed, error) {
	now := g.clock()
	if err := permitReview(caller); err != nil {
		return Reviewed{}, err
	}
	if r.Edit == nil {
		return Reviewed{}, missing("edit")
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate(now)); err != nil {
		return Reviewed{}, err
	}
	v, err := g.newReview(ctx, caller, command{name: cmdEdit, principal: caller.Principal, key: key}, candidate, r)
	if err != nil {
		return Reviewed{}, err
	}
	v.request, v.verdict = r, events.VerdictEdit
	if err := g.refresh(ctx, v.slot, v.see); err != nil {
		return Reviewed{}, err
	}
	old := v.slot.Find(v.fact)
	if v.decided == nil {
		// Nothing is made for what cannot be reviewed.
		if err := g.reviewable(ctx, v, old); err != nil {
			return Reviewed{}, err
		}
	}
	if old == nil || old.Status == events.StatusDeleted {
		return Reviewed{}, events.ErrForgotten
	}
	content, _, err := g.openFact(ctx, v.slot.aggregate.Tenant, old)
	if err != nil {
		return Reviewed{}, err
	}
	if r.Edit.Value != nil {
		stored := r.Edit.Value.Clone()
		if err := stored.Compact(); err != nil {
			return Reviewed{}, fmt.Errorf("encode value: %w", events.ErrInvalid)
		}
		content.Value = stored
	}
	if err := g.admit(ctx, v.tenant, "edit.value", suppression.Value(content.Predicate, content.Value)); err != nil {
		return Reviewed{}, err
	}
	e, err := g.newEdit(v, old, content)
	if err != nil {
		return Reviewed{}, err
	}
	if v.decided == nil && v.slot.Find(v.id) == nil {
		if err := g.acceptable(ctx, v, e, now); err != nil {
			return Reviewed{}, err
		}
	}
	// The record of what the command makes is that of the new candidate.
	v.subject, v.category = content.Subject, old.Class
	v.locate = func(string) (events.Kind, string) { return events.KindFact, v.slot.aggregate.ID }
	if err := g.begin(ctx, v.work); err != nil {
		return Reviewed{}, err
	}
	if v.sid() != old.Subject {
		return Reviewed{}, g.forgotten(ctx, v.work) // and is another by now
	}
	e.candidate.Content, err = sealContent(v.rec, events.KindFact, events.TypeFactProposed, content)
	if err != nil {
		return Reviewed{}, err
	}
	done, err := g.turns.take(ctx, v.slot.aggregate.ID)
	if err != nil {
		return Reviewed{}, err
	}
	defer done()
	for range maxTries {
		if err := g.refresh(ctx, v.slot, v.see); err != nil {
			return Reviewed{}, err
		}
		ok, err := g.editOnce(ctx, v, e, now)
		if err != nil {
			return Reviewed{}, err
		}
		if ok {
			return g.editAnswer(ctx, v, e)
		}
	}
	return Reviewed{}, fmt.Errorf("edit fact: %w", events.ErrConflict)
}

// edit is the candidate that takes the place of another.
type edit struct {
	candidate events.FactProposed
	content   events.FactContent
	value     jsontext.Value // canonical
}

// newEdit makes the candidate, not sealed yet.
func (g *Gateway) newEdit(v *review, old *events.SlotFact, content events.FactContent) (*edit, error) {
	value, err := token.Canonical(content.Value)
	if err != nil {
		return nil, fmt.Errorf("encode value: %w", err)
	}
	candidate, err := v.request.Edit.apply(old.FactProposed)
	if err != nil {
		return nil, err
	}
	candidate.Fact, candidate.Edits, candidate.Trust = v.id, old.Fact, events.TrustHuman
	candidate.Guard, candidate.Content = g.scan(content), nil
	return &edit{candidate: candidate, content: content, value: value}, nil
}

// acceptable refuses an edit that the gates would reject although it is approved,
// before there is anything of it: the one before would be used up for nothing.
func (g *Gateway) acceptable(ctx context.Context, v *review, e *edit, now time.Time) error {
	c, by, err := g.caseOf(ctx, v.slot, &events.SlotFact{FactProposed: e.candidate}, e.content, v.approval(), now)
	if err != nil {
		return err
	}
	for _, event := range Decide(&v.slot.Slot, c, v.slot.equalTo(e.value, now), by) {
		d, ok := event.(events.FactDecided)
		if !ok || d.Decision != events.DecisionReject {
			continue
		}
		for _, said := range d.Gates {
			if said.Outcome == events.DecisionReject {
				return refused("edit_rejected", "edit", "must not be rejected by a gate, as it is by "+said.Gate)
			}
		}
	}
	return nil
}

// approval is what the reviewer's edit says of the candidate that it makes.
func (v *review) approval() []events.ReviewBasis {
	return []events.ReviewBasis{{Reviewer: v.principal, Verdict: events.VerdictApprove}}
}

// editOnce takes the next step of an edit on the slot as it was read, and says
// whether it was the last one.
func (g *Gateway) editOnce(ctx context.Context, v *review, e *edit, now time.Time) (bool, error) {
	if v.decided != nil {
		return true, nil
	}
	old, edited := v.slot.Find(v.fact), v.slot.Find(v.id)
	if err := g.reviewable(ctx, v, old); err != nil {
		return false, err
	}
	switch {
	case edited == nil:
		_, err := g.appendReview(ctx, v, v.id, now, []events.Event{e.candidate})
		return false, err
	case edited.Status != events.StatusCandidate || !v.opens(events.KindFact, events.TypeFactProposed, edited.Content):
		return false, g.forgotten(ctx, v.work)
	}
	said := events.FactReviewed{Fact: old.Fact, Verdict: events.VerdictEdit, Hash: v.request.ContentHash, Into: v.id}
	if v.request.Note != "" && v.said == nil {
		// It goes from the log with its candidate alone.
		content, err := sealContent(v.record, events.KindFact, events.TypeFactReviewed, events.ReviewContent{Note: v.request.Note})
		if err != nil {
			return false, err
		}
		said.Content = content
		r, err := g.appendReview(ctx, v, v.noteID(), now, []events.Event{said})
		if r != nil {
			v.said = r
		}
		return false, err
	}
	list, err := g.decideEdit(ctx, v, old, edited, e, now)
	if err != nil {
		return false, err
	}
	if v.said == nil {
		list = append([]events.Event{said}, list...)
	}
	_, err = g.appendReview(ctx, v, token.Decision(v.id), now, list)
	return v.decided != nil, err
}

// decideEdit rejects the candidate that was edited, and decides on the one that
// takes its place, which its maker has approved.
func (g *Gateway) decideEdit(ctx context.Context, v *review, old, edited *events.SlotFact, e *edit, now time.Time) ([]events.Event, error) {
	content, _, err := g.openFact(ctx, v.slot.aggregate.Tenant, old)
	if err != nil {
		return nil, err
	}
	reviews, _ := reviewsOf(old, v.principal, v.request.ContentHash)
	if v.said == nil {
		reviews = append(reviews, events.ReviewBasis{Reviewer: v.principal, Verdict: events.VerdictEdit})
	}
	before, by, err := g.caseOf(ctx, v.slot, old, content, reviews, now)
	if err != nil {
		return nil, err
	}
	rejected := Decide(&v.slot.Slot, before, func(string) bool { return false }, by)
	after, by, err := g.caseOf(ctx, v.slot, edited, e.content, v.approval(), now)
	if err != nil {
		return nil, err
	}
	hash, err := edited.Hash()
	if err != nil {
		return nil, fmt.Errorf("edit fact: %w", err)
	}
	list := append([]events.Event{}, rejected...)
	list = append(list, events.FactReviewed{Fact: edited.Fact, Verdict: events.VerdictApprove, Hash: hash})
	return append(list, Decide(&v.slot.Slot, after, v.slot.equalTo(e.value, now), by)...), nil
}

// editAnswer is the answer to an edit, by the commit that decides.
func (g *Gateway) editAnswer(ctx context.Context, v *review, e *edit) (Reviewed, error) {
	a := v.answer(v.decided)
	a.CandidateID = v.id
	for _, event := range v.decided.Events {
		d, ok := event.(events.FactDecided)
		if !ok || d.Fact != v.id {
			continue
		}
		a.decided(&d)
		edited := v.slot.Find(v.id)
		if d.Decision != events.DecisionReview || edited == nil {
			continue
		}
		by, err := g.policyOf(ctx, v.slot.aggregate.Tenant)
		if err != nil {
			return Reviewed{}, err
		}
		a.Needed = max(a.Needed, by.Approvals(policy.NewInput(edited.FactProposed, e.content, d.Basis)))
	}
	return a, nil
}
