package producers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Edit replaces a candidate that waits by one that says what the reviewer makes of
// it, and approves that. The one before is rejected. What is edited has the trust
// of a person who has looked at it. The rules are those of [Gateway.Approve].
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
	// The record of what the command makes is that of the new candidate.
	v.subject, v.category = content.Subject, old.Class
	v.locate = func(string) (events.Kind, string) { return events.KindFact, v.slot.aggregate.ID }
	if err := g.begin(ctx, v.work); err != nil {
		return Reviewed{}, err
	}
	if v.sid() != old.Subject {
		return Reviewed{}, g.forgotten(ctx, v.work) // and is another by now
	}
	e, err := g.newEdit(v, old, content)
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
			return v.editAnswer(v.decided), nil
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

func (g *Gateway) newEdit(v *review, old *events.SlotFact, content events.FactContent) (*edit, error) {
	value, err := token.Canonical(content.Value)
	if err != nil {
		return nil, fmt.Errorf("encode value: %w", err)
	}
	sealed, err := sealContent(v.rec, events.KindFact, events.TypeFactProposed, content)
	if err != nil {
		return nil, err
	}
	candidate, err := v.request.Edit.apply(old.FactProposed)
	if err != nil {
		return nil, err
	}
	candidate.Fact, candidate.Edits, candidate.Trust = v.id, old.Fact, events.TrustHuman
	candidate.Guard, candidate.Content = g.scanFact(content), sealed
	return &edit{candidate: candidate, content: content, value: value}, nil
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
	after, by, err := g.caseOf(ctx, v.slot, edited, e.content,
		[]events.ReviewBasis{{Reviewer: v.principal, Verdict: events.VerdictApprove}}, now)
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
func (v *review) editAnswer(r *events.Recorded) Reviewed {
	a := v.answer(r)
	for _, e := range r.Events {
		if e, ok := e.(events.FactDecided); ok && e.Fact == v.id {
			a.decided(&e)
		}
	}
	a.CandidateID = v.id
	return a
}
