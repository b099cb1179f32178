package producers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/guard"
	"github.com/annals-memory/annals/producers/policy"
)

// reviewer is somebody who reviews and proposes nothing.
func reviewer(name string) events.Caller {
	return events.Caller{Tenant: "acme", Principal: name, Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser}
}

// waiting proposes what a tool says of maria's city, which waits for a review.
func (f *fixture) waiting(value string, observed time.Time) *events.SlotFact {
	f.Helper()
	tool := withTrust(user("acme"), events.TrustTool)
	c, err := f.Capture(f.Context(), tool, "", episode("maria", "a tool says "+value))
	if err != nil {
		f.Fatal(err)
	}
	p, err := f.Propose(f.Context(), tool, "", claim(value, observed, c.ID))
	if err != nil || p.Decision != events.DecisionReview {
		f.Fatalf("%+v %v", p, err)
	}
	return f.slot().Find(p.CandidateID)
}

// hashOf is what a reviewer is shown of a candidate.
func (f *fixture) hashOf(candidate string) string {
	f.Helper()
	h, err := f.slot().Find(candidate).Hash()
	if err != nil {
		f.Fatal(err)
	}
	return h
}

func (f *fixture) approve(by, candidate string) producers.Reviewed {
	f.Helper()
	r, err := f.Approve(f.Context(), reviewer(by), "", candidate, producers.ReviewRequest{ContentHash: f.hashOf(candidate)})
	if err != nil {
		f.Fatal(err)
	}
	return r
}

func (f *fixture) undo(candidate string) {
	f.Helper()
	if _, err := f.UndoReview(f.Context(), reviewer("rita"), "", candidate); err != nil {
		f.Fatal(err)
	}
}

func TestApprove(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		old := f.propose(claim(`"Rome"`, day(2), f.capture("maria", "I live in Rome.")))
		c := f.waiting(`"Paris"`, day(5))
		if f.valueAt(day(20)) != `"Rome"` {
			t.Fatal("what waits is true")
		}
		req := producers.ReviewRequest{ContentHash: f.hashOf(c.Fact), Note: "seen the letter"}
		r, err := f.Approve(t.Context(), reviewer("rita"), "key", c.Fact, req)
		if err != nil {
			t.Fatal(err)
		}
		if r.Decision != events.DecisionPromote || r.FactID != c.Fact || r.Approvals != 1 || r.Needed != 1 ||
			!slices.Equal(r.Superseded, []string{old.FactID}) {
			t.Errorf("%+v", r)
		}
		approved := 0
		for _, g := range r.Gates {
			if g.Reason == producers.ReasonApproved && g.Outcome == events.DecisionPromote {
				approved++
			}
		}
		if approved == 0 {
			t.Errorf("no gate was lifted: %+v", r.Gates)
		}
		if v := f.valueAt(day(20)); v != `"Paris"` {
			t.Errorf("current: %s", v)
		}
		now := f.slot().Find(c.Fact)
		if len(now.Standing()) != 1 || now.Reviews[0].Hash != req.ContentHash || len(now.Reviews[0].Content) == 0 {
			t.Errorf("%+v", now.Reviews)
		}
		// The note is sealed, and alone in its commit: what goes with the candidate
		// takes nothing from the fact that was superseded.
		for _, rec := range f.commits(f.last(events.KindFact, slotOfMaria(f)).Aggregate) {
			for _, e := range rec.Events {
				if e, ok := e.(events.FactReviewed); ok && e.Content != nil && len(rec.Events) != 1 {
					t.Errorf("the note is in a commit of %d events", len(rec.Events))
				}
			}
		}
		n := f.messages()
		again, err := f.Approve(t.Context(), reviewer("rita"), "key", c.Fact, req)
		if diff := cmp.Diff(r, again); err != nil || diff != "" || f.messages() != n {
			t.Errorf("again: %v %s", err, diff)
		}
		req.Note = "another"
		if _, err := f.Approve(t.Context(), reviewer("rita"), "key", c.Fact, req); !errors.Is(err, events.ErrKeyReused) {
			t.Errorf("another request under the key: %v", err)
		}
		if _, err := f.Approve(t.Context(), reviewer("rita"), "", c.Fact, req); !errors.Is(err, events.ErrConflict) {
			t.Errorf("decided: %v", err)
		}
	})
}

func TestWhoReviews(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	c := f.waiting(`"Paris"`, day(5))
	req := producers.ReviewRequest{ContentHash: f.hashOf(c.Fact)}
	both := reviewer("rita")
	both.Roles = append(both.Roles, events.RoleAgent)
	for name, caller := range map[string]events.Caller{
		"an agent": user("acme"), "a reviewer who is an agent": both, "who proposed it": reviewer("bot"),
		"an agent's channel": withTrust(reviewer("rita"), events.TrustAgent), "a tool": withTrust(reviewer("rita"), events.TrustTool),
	} {
		for verb, review := range map[string]func() error{
			"approve": func() error { _, err := f.Approve(t.Context(), caller, "", c.Fact, req); return err },
			"reject":  func() error { _, err := f.Reject(t.Context(), caller, "", c.Fact, req); return err },
			"edit": func() error {
				edit := req
				edit.Edit = &producers.FactEdit{Value: jsontext.Value(`"Lyon"`)}
				_, err := f.Approve(t.Context(), caller, "", c.Fact, edit)
				return err
			},
			"undo": func() error { _, err := f.UndoReview(t.Context(), caller, "", c.Fact); return err },
		} {
			if err := review(); !errors.Is(err, events.ErrForbidden) {
				t.Errorf("%s by %s: %v", verb, name, err)
			}
		}
	}
	other := reviewer("rita")
	other.Tenant = "acme-corp"
	if _, err := f.Approve(t.Context(), other, "", c.Fact, req); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}
	bad := req
	bad.ContentHash = fmt.Sprintf("%064d", 0)
	_, err := f.Approve(t.Context(), reviewer("rita"), "", c.Fact, bad)
	if conflict, ok := errors.AsType[*events.ConflictError](err); !ok || conflict.Actual == 0 {
		t.Errorf("other bytes: %v", err)
	}
	if _, err := f.Approve(t.Context(), reviewer("rita"), "", c.Fact, producers.ReviewRequest{}); err == nil {
		t.Error("no hash")
	}
	admin := reviewer("ada")
	admin.Roles = []events.Role{events.RoleAdmin}
	if r, err := f.Reject(t.Context(), admin, "", c.Fact, req); err != nil || r.Decision != events.DecisionReject {
		t.Errorf("control: %+v %v", r, err)
	}
	if s := f.slot().Find(c.Fact).Status; s != events.StatusRejected {
		t.Errorf("status %s", s)
	}
	f.undo(c.Fact)
	if s := f.slot().Find(c.Fact); s.Status != events.StatusCandidate || s.Decision.Decision != events.DecisionReview {
		t.Errorf("after undo: %s %s", s.Status, s.Decision.Decision)
	}
}

// What a review cannot lift stays: a source that was forgotten rejects.
func TestApproveWhatLostItsSource(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	c := f.waiting(`"Paris"`, day(5))
	hash := f.hashOf(c.Fact)
	f.forgetEpisode(c.Sources[0].Episode)
	r, err := f.Approve(t.Context(), reviewer("rita"), "", c.Fact, producers.ReviewRequest{ContentHash: hash})
	if err != nil || r.Decision != events.DecisionReject || r.FactID != "" {
		t.Errorf("%+v %v", r, err)
	}
	if v := f.valueAt(day(20)); v != "" {
		t.Errorf("current: %s", v)
	}
	held := f.waiting(`"Oslo"`, day(6))
	sid := held.Subject
	last := f.last(events.KindSubject, sid)
	f.append(last.Aggregate, last.Position, events.SubjectHeld{Hold: "case-1"})
	_, err = f.Approve(t.Context(), reviewer("rita"), "", held.Fact, producers.ReviewRequest{ContentHash: f.hashOf(held.Fact)})
	if !errors.Is(err, events.ErrNotFound) {
		t.Errorf("under a hold: %v", err)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		old := f.propose(claim(`"Rome"`, day(2), f.capture("maria", "I live in Rome.")))
		c := f.waiting(`"Pariss"`, day(5))
		req := producers.ReviewRequest{
			ContentHash: f.hashOf(c.Fact), Note: "a slip", Edit: &producers.FactEdit{Value: jsontext.Value(`"Paris"`)},
		}
		r, err := f.Approve(t.Context(), reviewer("rita"), "key", c.Fact, req)
		if err != nil {
			t.Fatal(err)
		}
		if r.Decision != events.DecisionPromote || r.ID != c.Fact || r.CandidateID == "" || r.FactID != r.CandidateID ||
			!slices.Equal(r.Superseded, []string{old.FactID}) {
			t.Errorf("%+v", r)
		}
		again, err := f.Approve(t.Context(), reviewer("rita"), "key", c.Fact, req)
		if diff := cmp.Diff(r, again); err != nil || diff != "" {
			t.Errorf("again: %v %s", err, diff)
		}
		slot := f.slot()
		was, is := slot.Find(c.Fact), slot.Find(r.CandidateID)
		if was.Status != events.StatusRejected || !slices.ContainsFunc(was.Decision.Gates, func(g events.Gate) bool { return g.Reason == producers.ReasonEdited }) {
			t.Errorf("%s %+v", was.Status, was.Decision.Gates)
		}
		if is.Trust != events.TrustHuman || is.Edits != c.Fact || !slices.Equal(is.Sources, c.Sources) {
			t.Errorf("%+v", is.FactProposed)
		}
		if v := f.valueAt(day(20)); v != `"Paris"` {
			t.Errorf("current: %s", v)
		}
		f.undo(r.CandidateID) // either of the two
		slot = f.slot()
		if v := f.valueAt(day(20)); v != `"Rome"` || slot.Find(r.CandidateID).Status != events.StatusRejected ||
			slot.Find(c.Fact).Decision.Decision != events.DecisionReview || slot.Find(c.Fact).Status != events.StatusCandidate {
			t.Errorf("after undo: %s", v)
		}
	})
}

func TestUndo(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		rome := f.propose(claim(`"Rome"`, day(2), f.capture("maria", "I live in Rome.")))
		c := f.waiting(`"Paris"`, day(5))
		_, err := f.UndoReview(t.Context(), reviewer("rita"), "", c.Fact)
		if !errors.Is(err, events.ErrConflict) {
			t.Fatalf("nothing to take back: %v", err)
		}
		f.approve("rita", c.Fact)
		f.waiting(`"Oslo"`, day(6)) // keeps nobody from it
		first, err := f.UndoReview(t.Context(), reviewer("rob"), "key", c.Fact)
		if err != nil {
			t.Fatal(err)
		}
		again, err := f.UndoReview(t.Context(), reviewer("rob"), "key", c.Fact)
		if err != nil || again != first {
			t.Errorf("again: %+v %v", again, err)
		}
		if v := f.valueAt(day(20)); v != `"Rome"` || f.slot().Find(rome.FactID).Status != events.StatusActive {
			t.Errorf("current: %s", v)
		}
		f.approve("rob", c.Fact)
		// Something that is true has changed since.
		if p := f.propose(claim(`"Bonn"`, day(8), f.capture("maria", "I live in Bonn."))); p.Decision != events.DecisionPromote {
			t.Fatal(p)
		}
		if _, err := f.UndoReview(t.Context(), reviewer("rita"), "", c.Fact); !errors.Is(err, events.ErrConflict) {
			t.Errorf("too late: %v", err)
		}
	})
}

// An approval of an equal value lends its sources to the fact; taken back, it
// takes them back, and only those.
func TestUndoOfCorroboration(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	rome := f.propose(claim(`"Rome"`, day(2), f.capture("maria", "I live in Rome.")))
	c := f.waiting(`"Rome"`, day(5))
	before := f.slot().Find(rome.FactID).Sources
	if r := f.approve("rita", c.Fact); r.FactID != rome.FactID || len(f.slot().Find(rome.FactID).Sources) != 2 {
		t.Fatalf("%+v", r)
	}
	f.undo(c.Fact)
	if after := f.slot().Find(rome.FactID).Sources; !slices.Equal(before, after) {
		t.Errorf("%v, was %v", after, before)
	}
}

// at is a gateway on the same store at another time.
func (f *fixture) at(now time.Time) *producers.Gateway {
	f.Helper()
	g, err := producers.New(producers.Config{
		Log: f.log, Keys: f.keys, Quarantine: f.quarantine, Now: func() time.Time { return now }, NewID: newID,
	})
	if err != nil {
		f.Fatal(err)
	}
	return g
}

// An undo at the end of the window, by the time of record.
func TestUndoWindow(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	c := f.waiting(`"Paris"`, day(5))
	f.approve("rita", c.Fact)
	g := f.at(start().Add(producers.UndoWindow + time.Second))
	if _, err := g.UndoReview(t.Context(), reviewer("rita"), "", c.Fact); !errors.Is(err, events.ErrConflict) {
		t.Errorf("too late: %v", err)
	}
	g = f.at(start().Add(producers.UndoWindow))
	if _, err := g.UndoReview(t.Context(), reviewer("rita"), "", c.Fact); err != nil {
		t.Errorf("control: %v", err)
	}
}

// Whatever is proposed, approved, rejected, edited and taken back: at no instant
// are two facts true, and what is taken back leaves every other fact as it was.
func TestReviewsKeepTheSlot(t *testing.T) {
	t.Parallel()
	outer, root := t, newRoot(t)
	rapid.Check(t, func(t *rapid.T) {
		f := store{
			log: memlog.New("test", start), rows: seal.NewMemRows(), root: root, quarantine: nodetest.NewQuarantine(start),
		}.open(outer)
		source := f.capture("maria", "hello")
		values := []string{`"Rome"`, `"Paris"`, `"Oslo"`}
		var waits []string
		for range rapid.IntRange(2, 8).Draw(t, "steps") {
			value := rapid.SampledFrom(values).Draw(t, "value")
			from, bounded := rapid.IntRange(1, 12).Draw(t, "day"), rapid.Bool().Draw(t, "bounded")
			req := claim(value, day(from), source)
			if bounded {
				req.ValidTo = at(day(from + 3))
			}
			caller := user("acme")
			if rapid.Bool().Draw(t, "by a tool") {
				caller = withTrust(caller, events.TrustTool)
			}
			p, err := f.Propose(f.Context(), caller, "", req)
			if err != nil {
				t.Fatal(err)
			}
			if p.Decision == events.DecisionReview {
				waits = append(waits, p.CandidateID)
			}
			if len(waits) == 0 || rapid.Bool().Draw(t, "go on") {
				checkDisjoint(t, f.slot())
				continue
			}
			c := rapid.SampledFrom(waits).Draw(t, "candidate")
			if f.slot().Find(c).Status != events.StatusCandidate {
				continue
			}
			before := f.slot()
			review := producers.ReviewRequest{ContentHash: f.hashOf(c)}
			if rapid.Bool().Draw(t, "note") {
				review.Note = "seen"
			}
			switch rapid.IntRange(0, 3).Draw(t, "review") {
			case 0:
				_, err = f.Reject(f.Context(), reviewer("rita"), "", c, review)
			case 1:
				review.Edit = &producers.FactEdit{Value: jsontext.Value(rapid.SampledFrom(values).Draw(t, "edit"))}
				fallthrough
			default:
				_, err = f.Approve(f.Context(), reviewer("rita"), "", c, review)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkDisjoint(t, f.slot())
			if !rapid.Bool().Draw(t, "undo") {
				continue
			}
			if _, err := f.UndoReview(f.Context(), reviewer("rita"), "", c); err != nil {
				t.Fatal(err)
			}
			after := f.slot()
			checkDisjoint(t, after)
			for _, was := range before.Facts {
				is := after.Find(was.Fact)
				if diff := cmp.Diff(was.Valid, is.Valid, cmpopts.EquateEmpty()); diff != "" || was.Status != is.Status || !slices.Equal(was.Sources, is.Sources) {
					t.Fatalf("%s was %s and is %s: %s", was.Fact, was.Status, is.Status, diff)
				}
			}
		}
	})
}

// checkDisjoint holds that at most one fact is true at any instant.
func checkDisjoint(t *rapid.T, s *events.Slot) {
	t.Helper()
	for i := range 20 * 24 {
		when, n := day(0).Add(time.Duration(i)*time.Hour), 0
		for _, f := range s.Facts {
			if f.TrueAt(when) {
				n++
				if f.Status == events.StatusCandidate || f.Status == events.StatusRejected || f.Status == events.StatusMerged {
					t.Fatalf("%s is %s and true", f.Fact, f.Status)
				}
			}
		}
		if n > 1 {
			t.Fatalf("%d facts are true at %v", n, when)
		}
	}
}

// twoApprovals asks for two reviewers where somebody is not sure.
const twoApprovals = `name: promotion
version: 2
rules:
  - {id: unsure, gate: confidence, outcome: review, when: cand.confidence < 0.5, approvals: 2}
`

func TestTwoApprovals(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		admin := reviewer("ada")
		admin.Roles = []events.Role{events.RoleAdmin}
		if _, err := f.ActivatePolicy(t.Context(), admin, producers.PolicyName, producers.PolicyRequest{Text: twoApprovals}); err != nil {
			t.Fatal(err)
		}
		unsure := claim(`"Paris"`, day(5), f.capture("maria", "Perhaps I live in Paris."))
		unsure.Confidence = new(0.3)
		c := f.propose(unsure).CandidateID
		req := producers.ReviewRequest{ContentHash: f.hashOf(c), Note: "likely"}
		first, err := f.Approve(t.Context(), reviewer("rita"), "key", c, req)
		if err != nil || first.Decision != events.DecisionReview || first.Approvals != 1 || first.Needed != 2 || first.FactID != "" {
			t.Fatalf("%+v %v", first, err)
		}
		n := f.messages()
		again, err := f.Approve(t.Context(), reviewer("rita"), "key", c, req)
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			t.Errorf("again: %v %s", err, diff)
		}
		// The same reviewer is no second one.
		twice, err := f.Approve(t.Context(), reviewer("rita"), "", c, req)
		if err != nil || twice.Decision != events.DecisionReview || twice.Approvals != 1 || f.messages() != n {
			t.Errorf("twice: %+v %v", twice, err)
		}
		if v := f.valueAt(day(20)); v != "" {
			t.Errorf("current after one approval: %s", v)
		}
		second, err := f.Approve(t.Context(), reviewer("rob"), "", c, req)
		if err != nil || second.Decision != events.DecisionPromote || second.Approvals != 2 || second.FactID != c {
			t.Errorf("%+v %v", second, err)
		}
		f.undo(c)
		if again := f.approve("rob", c); again.Decision != events.DecisionReview || again.Approvals != 1 {
			t.Errorf("after an undo all approvals are gone: %+v", again)
		}
		// An approval that waits for another is its reviewer's alone to take back.
		if _, err := f.UndoReview(t.Context(), reviewer("rita"), "", c); !errors.Is(err, events.ErrConflict) || len(f.slot().Find(c).Standing()) != 1 {
			t.Errorf("another's approval is taken back: %v", err)
		}
		if _, err := f.UndoReview(t.Context(), reviewer("rob"), "", c); err != nil {
			t.Errorf("one's own: %v", err)
		}
		if n := len(f.slot().Find(c).Standing()); n != 0 {
			t.Errorf("%d reviews stand", n)
		}
	})
}

// Of several approvals that wait for one more each is its reviewer's to take back, by
// whomever the others are, and the key under which it was given does not give it again.
func TestWithdrawOneOfSeveral(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		admin := reviewer("ada")
		admin.Roles = []events.Role{events.RoleAdmin}
		text := strings.Replace(twoApprovals, "approvals: 2", "approvals: 3", 1)
		if _, err := f.ActivatePolicy(t.Context(), admin, producers.PolicyName, producers.PolicyRequest{Text: text}); err != nil {
			t.Fatal(err)
		}
		unsure := claim(`"Paris"`, day(5), f.capture("maria", "Perhaps I live in Paris."))
		unsure.Confidence = new(0.3)
		c := f.propose(unsure).CandidateID
		req := producers.ReviewRequest{ContentHash: f.hashOf(c)}
		first, err := f.Approve(t.Context(), reviewer("rita"), "key", c, req)
		if err != nil {
			t.Fatal(err)
		}
		if r := f.approve("rob", c); r.Approvals != 2 || r.Needed != 3 {
			t.Fatalf("control: %+v", r)
		}
		stand := func() (who []string) {
			for _, r := range f.slot().Find(c).Standing() {
				who = append(who, r.Reviewer)
			}
			return who
		}
		both := stand()
		undone, err := f.UndoReview(t.Context(), reviewer("rita"), "undo", c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(both[1:], stand()); diff != "" {
			t.Errorf("what stands (-want +got):\n%s", diff)
		}
		if again, err := f.UndoReview(t.Context(), reviewer("rita"), "undo", c); err != nil || again != undone {
			t.Errorf("again: %+v %v", again, err)
		}
		if again, err := f.Approve(t.Context(), reviewer("rita"), "key", c, req); err != nil || again.Approvals != first.Approvals || len(stand()) != 1 {
			t.Errorf("the key gives it again: %+v %v", again, err)
		}
		for _, who := range []string{"rita", "iris"} { // who has nothing that stands
			if _, err := f.UndoReview(t.Context(), reviewer(who), "", c); !errors.Is(err, events.ErrConflict) || len(stand()) != 1 {
				t.Errorf("%s takes back what is another's: %v", who, err)
			}
		}
		if r := f.approve("iris", c); r.Approvals != 2 || r.Decision != events.DecisionReview {
			t.Errorf("a withdrawn approval counts: %+v", r)
		}
		if r := f.approve("rita", c); r.Approvals != 3 || r.Decision != events.DecisionPromote {
			t.Errorf("approved anew: %+v", r)
		}
	})
}

// An edit that the gates reject leaves nothing, and what was edited waits still.
func TestRejectedEdit(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	f.Gateway = f.gateway(func(c *producers.Config) { c.Scanner = guard.Default() })
	c := f.waiting(`"Paris"`, day(5))
	edit := func(value string) (producers.Reviewed, error) {
		return f.Approve(t.Context(), reviewer("rita"), "key "+value[:4], c.Fact, producers.ReviewRequest{
			ContentHash: f.hashOf(c.Fact), Note: "a slip", Edit: &producers.FactEdit{Value: jsontext.Value(value)},
		})
	}
	n := f.messages()
	for range 2 { // the second under the same key
		_, err := edit(`"password: hunter2hunter2"`)
		wantInput(t, err, events.Refused, "edit_rejected", "edit")
		if in, _ := errors.AsType[*events.InputError](err); !strings.Contains(in.Rule, producers.GateGuardrail) {
			t.Errorf("the gate is not named: %s", in.Rule)
		}
	}
	if is := f.slot().Find(c.Fact); is.Status != events.StatusCandidate || len(is.Reviews) != 0 || f.messages() != n {
		t.Errorf("%s, %d reviews, %d messages more", is.Status, len(is.Reviews), f.messages()-n)
	}
	if r, err := edit(`"Lyon"`); err != nil || r.Decision != events.DecisionPromote {
		t.Errorf("control: %+v %v", r, err)
	}
}

// Who proposed what was edited is no second reviewer of the edit.
func TestEditIsStillOnesOwn(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	admin := reviewer("ada")
	admin.Roles = []events.Role{events.RoleAdmin}
	if _, err := f.ActivatePolicy(t.Context(), admin, producers.PolicyName, producers.PolicyRequest{Text: twoApprovals}); err != nil {
		t.Fatal(err)
	}
	unsure := claim(`"Paris"`, day(5), f.capture("maria", "Perhaps I live in Paris."))
	unsure.Confidence = new(0.3)
	c := f.propose(unsure).CandidateID
	r, err := f.Edit(t.Context(), reviewer("rita"), "", c, producers.ReviewRequest{
		ContentHash: f.hashOf(c), Edit: &producers.FactEdit{Value: []byte(`"Lyon"`)},
	})
	if err != nil || r.Decision != events.DecisionReview || r.Approvals != 1 || r.Needed != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	req := producers.ReviewRequest{ContentHash: f.hashOf(r.CandidateID)}
	for _, own := range []string{"bot", "rita"} {
		if _, err := f.Approve(t.Context(), reviewer(own), "", r.CandidateID, req); !errors.Is(err, events.ErrForbidden) {
			t.Errorf("by %s: %v", own, err)
		}
	}
	if second := f.approve("rob", r.CandidateID); second.Decision != events.DecisionPromote || second.Approvals != 2 {
		t.Errorf("%+v", second)
	}
}

// An approval that was not the last is answered as at first under its key, and
// takes effect once: also when others have decided since, and when that was taken
// back.
func TestApprovalUnderKeyOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		admin := reviewer("ada")
		admin.Roles = []events.Role{events.RoleAdmin}
		if _, err := f.ActivatePolicy(t.Context(), admin, producers.PolicyName, producers.PolicyRequest{Text: twoApprovals}); err != nil {
			t.Fatal(err)
		}
		unsure := claim(`"Paris"`, day(5), f.capture("maria", "Perhaps I live in Paris."))
		unsure.Confidence = new(0.3)
		c := f.propose(unsure).CandidateID
		req := producers.ReviewRequest{ContentHash: f.hashOf(c)}
		first, err := f.Approve(t.Context(), reviewer("rita"), "key", c, req)
		if err != nil || first.Approvals != 1 || first.Needed != 2 {
			t.Fatalf("%+v %v", first, err)
		}
		if second := f.approve("rob", c); second.Decision != events.DecisionPromote {
			t.Fatalf("%+v", second)
		}
		repeat := func(after string) {
			t.Helper()
			n := f.messages()
			again, err := f.Approve(t.Context(), reviewer("rita"), "key", c, req)
			if diff := cmp.Diff(first, again); err != nil || diff != "" || f.messages() != n {
				t.Errorf("again after %s: %v %s", after, err, diff)
			}
		}
		repeat("the last approval")
		f.undo(c)
		repeat("an undo")
		if n := len(f.slot().Find(c).Standing()); n != 0 {
			t.Errorf("%d reviews stand", n)
		}
		// By another command the same reviewer can say so again.
		if again := f.approve("rita", c); again.Approvals != 1 || len(f.slot().Find(c).Standing()) != 1 {
			t.Errorf("%+v", again)
		}
	})
}

// Every decision that follows from reviews can be made again from the log, to the
// same bytes.
func TestReviewedDecisionsAgain(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	f.propose(claim(`"Rome"`, day(2), f.capture("maria", "I live in Rome.")))
	approved, rejected, edited := f.waiting(`"Paris"`, day(5)), f.waiting(`"Oslo"`, day(6)), f.waiting(`"Bonn"`, day(7))
	f.approve("rita", approved.Fact)
	if _, err := f.Reject(t.Context(), reviewer("rita"), "", rejected.Fact, producers.ReviewRequest{ContentHash: f.hashOf(rejected.Fact)}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Edit(t.Context(), reviewer("rita"), "", edited.Fact, producers.ReviewRequest{
		ContentHash: f.hashOf(edited.Fact), Edit: &producers.FactEdit{Value: jsontext.Value(`"Köln"`)},
	}); err != nil {
		t.Fatal(err)
	}
	f.undo(edited.Fact)
	slot, checked := f.slot(), 0
	for _, r := range f.commits(f.last(events.KindFact, slotOfMaria(f)).Aggregate) {
		for _, e := range r.Events {
			d, ok := e.(events.FactDecided)
			if !ok {
				continue
			}
			fact := slot.Find(d.Fact)
			content := events.FactContent{Subject: "maria", Predicate: "city", Value: jsontext.Value(f.value(fact)), Category: "profile"}
			again := producers.Again(d, fact.FactProposed, content, policy.Default())
			if diff := cmp.Diff(d, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("at %d: %s", r.Position, diff)
			}
			checked++
		}
	}
	if checked < 9 {
		t.Errorf("only %d decisions were made again", checked)
	}
}
