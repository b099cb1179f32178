package tombstones_test

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// slotOf is the slot of what is derived from an episode as the log has it, and where it is.
func (n *node) slotOf(source string) (*events.Slot, events.Aggregate) {
	n.Helper()
	must(n, n.Views.WaitFor(n.Context(), n.End()))
	snap, err := query.NewErasingViews(n.Views).Snapshot(n.Context())
	must(n, err)
	ids, err := snap.Slots(n.token(), source, "")
	must(n, errors.Join(err, snap.Close()))
	if len(ids) != 1 {
		n.Fatalf("%d slots, want one", len(ids))
	}
	at := events.Aggregate{Tenant: n.token(), Kind: events.KindFact, ID: ids[0]}
	return n.slotAt(at), at
}

func (n *node) slotAt(at events.Aggregate) *events.Slot {
	n.Helper()
	slot := &events.Slot{}
	for r, err := range n.Events.ReadAggregate(n.Context(), at, 0) {
		must(n, err)
		slot.Apply(r)
	}
	return slot
}

// A fact takes what a reviewer made of it along, and what was made of that.
func TestForgetFactWithItsEdits(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.Tell("maria", "She plays the cello.")
	original := n.Promoted(fact("maria", "instrument", `"cello"`, day(2), source))
	other := n.Promoted(fact("maria", "instrument", `"viola"`, day(3), n.Tell("maria", "The viola.")))
	slot, at := n.slotOf(source)
	sid, err := n.sid("maria")
	must(t, err)
	first, second := newID(), newID()
	edited := func(id, of string) events.FactProposed {
		p := slot.Find(original).FactProposed
		p.Fact, p.Edits = id, of
		return p
	}
	_, err = n.Events.Append(t.Context(), events.Commit{
		ID: newID(), Aggregate: at, Time: n.Clock.Now(), Events: []events.Event{edited(first, original), edited(second, first)},
	}, events.Expect(slot.Position))
	must(t, err)
	e, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindFact, original)
	must(t, err)
	slot = n.slotAt(at)
	for _, id := range []string{original, first, second} {
		if f := slot.Find(id); f.Status != events.StatusDeleted || f.Erasure != e.ErasureID || f.Subject != sid {
			t.Errorf("%+v", f)
		}
	}
	if slot.Find(other).Status == events.StatusDeleted || n.keyless(other) || !n.keyless(original) {
		t.Error("not exactly what was made of the fact is gone")
	}
}

// edited has a reviewer make something else of what a tool proposes, and returns
// both candidates.
func (n *node) edited(value, instead, source string) (was, is string) {
	n.Helper()
	tool := user("acme")
	tool.Trust = events.TrustTool
	p, err := n.Propose(n.Context(), tool, "", fact("maria", "instrument", value, day(5), source))
	must(n, err)
	slot, _ := n.slotOf(source)
	hash, err := slot.Find(p.CandidateID).Hash()
	must(n, err)
	rita := events.Caller{Tenant: "acme", Principal: "rita", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser}
	r, err := n.Approve(n.Context(), rita, "", p.CandidateID, producers.ReviewRequest{
		ContentHash: hash, Edit: &producers.FactEdit{Value: jsontext.Value(instead)},
	})
	must(n, err)
	if r.Decision != events.DecisionPromote {
		n.Fatalf("%+v", r)
	}
	return p.CandidateID, r.CandidateID
}

// What a reviewer made a fact of ends with it, and a dry run counts it: by the fact,
// by the candidate and by the episode that both were taken from.
func TestForgetWhatAFactWasEditedFrom(t *testing.T) {
	t.Parallel()
	for what, named := range map[string]func(source, was, is string) string{
		"fact":      func(_, _, is string) string { return is },
		"candidate": func(_, was, _ string) string { return was },
		"source":    func(source, _, _ string) string { return source },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := inMemory(t)
			other := n.Promoted(fact("maria", "instrument", `"viola"`, day(3), n.Tell("maria", "The viola.")))
			source := n.Tell("maria", "She plays the celo.")
			was, is := n.edited(`"celo"`, `"cello"`, source)
			merged := n.Promoted(fact("maria", "instrument", `"cello"`, day(6), source))
			if merged != is || n.keyless(was) || n.keyless(is) {
				t.Fatal("the candidate, the fact and what was merged into it are not there")
			}
			must(t, n.Views.WaitFor(t.Context(), n.End()))
			req := tombstones.ForgetRequest{IDs: []string{named(source, was, is)}}
			most := 3
			if what == "source" {
				most++
			}
			dry := req
			dry.DryRun = true
			told := n.forget("", dry)
			if told.Cascaded == nil || told.Matched+*told.Cascaded != most || *told.Weakened != 0 {
				t.Errorf("a dry run: %d match, %d go with them, %d lose a source", told.Matched, *told.Cascaded, *told.Weakened)
			}
			fewer := req
			few := most - 1
			fewer.Max = &few
			if _, err := n.Forget(t.Context(), user("acme"), "", fewer); err == nil || n.keyless(was) {
				t.Errorf("more than the maximum: %v", err)
			}
			req.Max = &most
			out := n.forget("", req)
			if got := n.status(out.ErasureID).Stores[0]; got.Done != most {
				t.Errorf("%+v", got)
			}
			slot, _ := n.slotWith(other)
			for _, f := range slot.Facts {
				gone := f.Fact != other
				if (f.Status == events.StatusDeleted) != gone || n.keyless(f.Fact) != gone {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// A candidate that waits again, because its edit was taken back, is nobody's but its
// own.
func TestForgetAnEditThatWasTakenBack(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	was, is := n.edited(`"celo"`, `"cello"`, n.Tell("maria", "She plays the celo."))
	rita := events.Caller{Tenant: "acme", Principal: "rita", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser}
	_, err := n.UndoReview(t.Context(), rita, "", is)
	must(t, err)
	n.forget("", tombstones.ForgetRequest{IDs: []string{is}})
	if !n.keyless(is) || n.keyless(was) {
		t.Error("not exactly the edit is gone")
	}
}

// slotWith is the slot of a fact as the log has it.
func (n *node) slotWith(id string) (*events.Slot, events.Aggregate) {
	n.Helper()
	rec, err := n.Keys.Record(n.Context(), n.token(), id)
	must(n, err)
	note, err := token.ParseNote(rec.Note())
	must(n, err)
	at := events.Aggregate{Tenant: n.token(), Kind: events.KindFact, ID: note.Aggregate}
	return n.slotAt(at), at
}
