package producers_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/policy"
)

// A promoted fact has all that was said, in a commit of its own; the decision is
// the next one of the slot.
func TestPropose(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		e := f.capture("maria", "I live in Rome.")
		r := claim(` { "city" : "Rome" } `, day(3), strings.ToUpper(e))
		r.Scope, r.ValidFrom, r.ExpiresAt = "home", at(day(2)), at(start().Add(time.Hour))
		r.Provenance = []events.Source{{Kind: "doc", Ref: "d1"}}
		p := f.propose(r)
		want := producers.Proposed{
			CandidateID: p.CandidateID, Decision: events.DecisionPromote, FactID: p.CandidateID, Superseded: []string{},
			Policy: policy.Default().Ref(), Position: p.Position, Gates: p.Gates,
		}
		if diff := cmp.Diff(want, p); diff != "" || len(p.Gates) != 7 {
			t.Fatal(diff)
		}
		tenant := f.tenant()
		sid := subjectOf(f, e)
		slot := tenant.Hash("slot", sid+"\x00city\x00home")
		rec := f.last(events.KindFact, slot)
		if rec.Position != p.Position || rec.ID != token.Decision(p.CandidateID) || len(rec.Events) != 2 {
			t.Fatalf("%+v", rec)
		}
		commits := f.commits(rec.Aggregate)
		if len(commits) != 2 || commits[0].ID != p.CandidateID || len(commits[0].Events) != 1 {
			t.Fatalf("%+v", commits)
		}
		proposed, _ := commits[0].Events[0].(events.FactProposed)
		wantEvent := events.FactProposed{
			Fact: p.CandidateID, Subject: sid, Class: tenant.Hash("category", "profile"), Predicate: tenant.Hash("predicate", "city"),
			Scope: tenant.Hash("scope", "home"), Category: tenant.Hash("category", "profile"), Confidence: 1, Trust: events.TrustUser,
			ObservedAt: day(3), ValidFrom: day(2), ExpiresAt: start().Add(time.Hour),
			Sources: []events.SourceRef{{
				Episode: e, Subject: sid, Source: tenant.Hash("source", "chat\x00m1"), At: f.last(events.KindEpisode, e).Position,
			}},
			Content: proposed.Content,
		}
		if diff := cmp.Diff(wantEvent, proposed); diff != "" {
			t.Error(diff)
		}
		decided, _ := commits[1].Events[0].(events.FactDecided)
		wantBasis := events.Basis{
			Evidence: []events.EvidenceBasis{{Episode: e, Found: true, Trust: events.TrustUser, Principal: tenant.Hash("principal", "bot")}},
			Conflict: producers.ReasonNoConflict, At: start(),
		}
		if diff := cmp.Diff(wantBasis, decided.Basis); diff != "" {
			t.Error(diff)
		}
		var folded events.Slot
		folded.Apply(commits[0])
		if v := f.value(folded.Facts[0]); v != `{"city":"Rome"}` {
			t.Errorf("value %s", v)
		}
	})
}

func TestProposeSources(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		mine := f.capture("maria", "hello")
		forgotten := f.capture("maria", "forget this")
		f.forgetEpisode(forgotten)
		other := f.capture("jon", "maria lives in Rome")
		ghost := f.capture("ghost", "boo")
		f.forgetSubject("ghost")
		foreign, err := f.Capture(t.Context(), user("acme-corp"), "", episode("maria", "theirs"))
		if err != nil {
			t.Fatal(err)
		}
		tool, err := f.Capture(t.Context(), withTrust(user("acme"), events.TrustTool), "", episode("maria", "says a tool"))
		if err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			sources  []string
			decision events.Decision
			reason   string
		}{
			"mine":              {[]string{mine}, events.DecisionPromote, "ok"},
			"none":              {nil, events.DecisionReject, "no_source"},
			"unknown":           {[]string{mine, someID}, events.DecisionReject, "unknown_source"},
			"no id":             {[]string{"maria@example.org"}, events.DecisionReject, "unknown_source"},
			"another tenant's":  {[]string{foreign.ID}, events.DecisionReject, "unknown_source"},
			"forgotten":         {[]string{mine, forgotten}, events.DecisionReject, "source_forgotten"},
			"forgotten subject": {[]string{mine, ghost}, events.DecisionReject, "source_forgotten"},
			"another subject's": {[]string{mine, other}, events.DecisionReview, "source_other_subject"},
			"a tool's":          {[]string{mine, tool.ID}, events.DecisionReview, "untrusted_origin"},
		} {
			r := claim(`1`, day(3), tt.sources...)
			r.Predicate = name
			p := f.propose(r)
			if p.Decision != tt.decision || (p.FactID != "") != (tt.decision == events.DecisionPromote) ||
				!slices.ContainsFunc(p.Gates, func(g events.Gate) bool { return g.Reason == tt.reason && g.Outcome == tt.decision }) {
				t.Errorf("%s: %+v", name, p)
			}
			if fact := f.slotOf("maria", name).At(day(20)); (fact != nil) != (tt.decision == events.DecisionPromote) {
				t.Errorf("%s: true fact %v", name, fact)
			}
		}
	})
}

// A fact that has expired is confirmed by nothing: what is said again is a fact
// of its own, and is current.
func TestProposeWhatHasExpired(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	e := f.capture("maria", "moved")
	r := claim(`"Rome"`, day(3), e)
	r.ExpiresAt = at(start().Add(time.Hour))
	first := f.propose(r)
	if again := f.propose(claim(`"Rome"`, day(4), e)); again.FactID != first.FactID {
		t.Errorf("control: %+v", again)
	}
	evening := func() time.Time { return start().Add(2 * time.Hour) }
	g, err := producers.New(producers.Config{Log: f.log, Keys: f.keys, Quarantine: f.quarantine, Now: evening, NewID: newID})
	if err != nil {
		t.Fatal(err)
	}
	f.Gateway = g
	later := f.propose(claim(`"Rome"`, day(5), e))
	if later.Decision != events.DecisionPromote || later.FactID == first.FactID {
		t.Errorf("%+v", later)
	}
	if fact := f.slotOf("maria", "city").At(evening()); fact == nil || fact.Fact != later.FactID {
		t.Errorf("true: %v", fact)
	}
}

// a correction supersedes, and what it corrects stays as history.
func TestProposeSupersedes(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	e := f.capture("maria", "moved")
	rome := f.propose(claim(`"Rome"`, day(3), e))
	oslo := f.propose(claim(`"Oslo"`, day(9), e))
	if diff := cmp.Diff([]string{rome.FactID}, oslo.Superseded); diff != "" {
		t.Error(diff)
	}
	late := f.propose(claim(`"Bonn"`, day(1), e))
	if late.Decision != events.DecisionPromote || len(late.Superseded) != 0 {
		t.Errorf("%+v", late)
	}
	for d, want := range map[int]string{1: `"Bonn"`, 2: `"Bonn"`, 3: `"Rome"`, 8: `"Rome"`, 9: `"Oslo"`, 30: `"Oslo"`} {
		if got := f.valueAt(day(d)); got != want {
			t.Errorf("day %d: %s, want %s", d, got, want)
		}
	}
	scoped := claim(`"Lyon"`, day(10), e)
	scoped.Scope = "holidays"
	if p := f.propose(scoped); len(p.Superseded) != 0 || f.valueAt(day(20)) != `"Oslo"` {
		t.Errorf("a supplement superseded: %+v", p)
	}
}

func TestProposeEqualValue(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		a, b := f.capture("maria", "one"), f.capture("maria", "two")
		one := f.propose(claim(`{"n":1,"s":"\u00e4"}`, day(3), a))
		two := f.propose(claim(` {"s":"ä", "n":1.0}`, day(5), b))
		if two.FactID != one.FactID || two.CandidateID == one.CandidateID || two.Decision != events.DecisionPromote {
			t.Fatalf("%+v", two)
		}
		slot := f.slot()
		if fact := slot.Find(one.FactID); len(fact.Sources) != 2 || len(fact.Valid) != 1 || fact.Status != events.StatusActive {
			t.Errorf("%+v", fact)
		}
		if c := slot.Find(two.CandidateID); c.Status != events.StatusMerged {
			t.Errorf("candidate is %s", c.Status)
		}
		// Two integers that a float cannot tell apart are two values.
		f.propose(claim(`9007199254740993`, day(6), a))
		if p := f.propose(claim(`9007199254740992`, day(7), a)); len(p.Superseded) != 1 {
			t.Errorf("%+v", p)
		}
	})
}

// Facts proposed in shuffled order answer as-of questions right.
func TestProposeShuffled(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	e := f.capture("maria", "moved a lot")
	order := rand.New(rand.NewPCG(1, 2)).Perm(12)
	for _, i := range order {
		f.propose(claim(fmt.Sprintf(`"city %d"`, i/2), day(2*i+1), e))
	}
	for d := 1; d <= 24; d++ {
		if got, want := f.valueAt(day(d)), fmt.Sprintf(`"city %d"`, (d-1)/4); got != want {
			t.Errorf("day %d: %s, want %s", d, got, want)
		}
	}
}

// 50 at once with the same value are one fact with 50 sources.
func TestProposeEqualAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		const n = 50
		gateways := []*fixture{s.open(t), s.open(t)}
		f := gateways[0]
		sources := make([]string, n)
		for i := range n {
			sources[i] = f.capture("maria", fmt.Sprintf("text %d", i))
		}
		answers := make([]producers.Proposed, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				answers[i], err = gateways[i%2].Propose(t.Context(), user("acme"), fmt.Sprintf("key %d", i), claim(`"Rome"`, day(3), sources[i]))
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		slot := f.slot()
		var active []*events.SlotFact
		for _, fact := range slot.Facts {
			if fact.Status == events.StatusActive {
				active = append(active, fact)
			}
		}
		if len(slot.Facts) != n || len(active) != 1 || len(active[0].Sources) != n {
			t.Fatalf("%d candidates, %d facts", len(slot.Facts), len(active))
		}
		for _, a := range answers {
			if a.FactID != active[0].Fact || a.Decision != events.DecisionPromote {
				t.Errorf("%+v", a)
			}
		}
	})
}

// 50 at once with different values leave at most one true at any time.
func TestProposeDifferentAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		const n = 50
		gateways := []*fixture{s.open(t), s.open(t)}
		f := gateways[0]
		e := f.capture("maria", "confused")
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				_, err := gateways[i%2].Propose(t.Context(), user("acme"), "", claim(fmt.Sprint(i), day(1+i%5), e))
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		slot := f.slot()
		disjoint(t, slot)
		if len(slot.Facts) != n || slot.At(day(20)) == nil {
			t.Errorf("%d candidates", len(slot.Facts))
		}
	})
}

func TestProposeIdempotency(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		ctx, who := t.Context(), user("acme")
		e := f.capture("maria", "moved")
		f.propose(claim(`"Bonn"`, day(2), e))
		one, err := f.Propose(ctx, who, "key", claim(`"Rome"`, day(3), e))
		if err != nil || len(one.Superseded) != 1 {
			t.Fatalf("%+v, %v", one, err)
		}
		f.propose(claim(`"Oslo"`, day(9), e)) // changes the slot, not the first answer
		n := f.messages()
		again, err := s.open(t).Propose(ctx, who, "key", claim(`"Rome"`, day(3), e))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(one, again); diff != "" {
			t.Error(diff)
		}
		if _, err := f.Propose(ctx, who, "key", claim(`"Rome"`, day(4), e)); !errors.Is(err, events.ErrKeyReused) {
			t.Errorf("other body: %v", err)
		}
		if m := f.messages(); m != n {
			t.Errorf("%d messages, want %d", m, n)
		}
		slot := f.last(events.KindFact, slotOfMaria(f))
		f.append(slot.Aggregate, slot.Position, events.FactForgotten{Fact: one.FactID, Erasure: newID()})
		if _, err := f.Propose(ctx, who, "key", claim(`"Rome"`, day(3), e)); !errors.Is(err, events.ErrForgotten) {
			t.Errorf("forgotten, key left: %v", err)
		}
		if err := f.keys.DestroyRecord(ctx, f.tenant().Token(), one.FactID); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := f.Propose(ctx, who, "key", claim(`"Rome"`, day(3), e)); !errors.Is(err, events.ErrForgotten) {
				t.Errorf("forgotten: %v", err)
			}
		}
		if _, err := f.keys.Record(ctx, f.tenant().Token(), one.FactID); !errors.Is(err, seal.ErrKeyDestroyed) {
			t.Errorf("the key came back: %v", err)
		}
	})
}

func slotOfMaria(f *fixture) string {
	f.Helper()
	sid, err := f.tenant().SubjectID(f.Context(), "maria", false)
	if err != nil {
		f.Fatal(err)
	}
	return f.tenant().Hash("slot", sid+"\x00city\x00")
}

func TestProposeAfterACrash(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plan func(*faultyLog)
		left int // commits of the slot that the first attempt left
	}{
		"before the candidate": {func(l *faultyLog) { l.before = unavailable }, 0},
		"after the candidate":  {func(l *faultyLog) { l.after = unavailable }, 1},
		"before the decision":  {func(l *faultyLog) { l.before = l.second(&l.before, unavailable) }, 1},
		"after the decision":   {func(l *faultyLog) { l.after = l.second(&l.after, unavailable) }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, s store) {
				log := &faultyLog{Log: s.log, kind: events.KindFact}
				tt.plan(log)
				f := s.openOn(t, log, s.rows)
				r := claim(`"Rome"`, day(3), f.capture("maria", "moved"))
				if _, err := f.Propose(t.Context(), user("acme"), "key", r); !errors.Is(err, events.ErrUnavailable) {
					t.Fatal(err)
				}
				slot := events.Aggregate{Tenant: f.tenant().Token(), Kind: events.KindFact, ID: slotOfMaria(f)}
				if n := len(f.commits(slot)); n != tt.left {
					t.Errorf("%d commits are left, want %d", n, tt.left)
				}
				p, err := f.Propose(t.Context(), user("acme"), "key", r)
				if err != nil || p.Decision != events.DecisionPromote {
					t.Fatalf("%+v, %v", p, err)
				}
				again, err := s.open(t).Propose(t.Context(), user("acme"), "key", r)
				if diff := cmp.Diff(p, again); diff != "" || err != nil {
					t.Errorf("once more: %v %s", err, diff)
				}
				if n := len(f.commits(slot)); n != 2 || len(f.slot().Facts) != 1 {
					t.Errorf("%d commits with %d candidates", n, len(f.slot().Facts))
				}
			})
		})
	}
}

// A candidate whose command was cut off is true at no time, stands in nobody's
// way, cannot be retracted, and is decided by its command alone.
func TestUndecided(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		log := &faultyLog{Log: s.log, kind: events.KindFact}
		log.after = unavailable
		f := s.openOn(t, log, s.rows)
		ctx, who, e := t.Context(), user("acme"), f.capture("maria", "moved")
		if _, err := f.Propose(ctx, who, "key", claim(`"Rome"`, day(3), e)); !errors.Is(err, events.ErrUnavailable) {
			t.Fatal(err)
		}
		if facts := f.slot().Facts; len(facts) != 1 || facts[0].Decision.Decision != "" || f.valueAt(day(4)) != "" {
			t.Fatalf("%+v", facts)
		}
		id := f.slot().Facts[0].Fact
		if _, err := f.Retract(ctx, who, "", id, producers.RetractRequest{Reason: "r"}); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("retracted: %v", err)
		}
		equal := f.propose(claim(`"Rome"`, day(3), e))
		if equal.FactID != equal.CandidateID || len(equal.Superseded) != 0 {
			t.Errorf("the undecided one has a part in %+v", equal)
		}
		f.propose(claim(`"Oslo"`, day(9), e))
		p, err := f.Propose(ctx, who, "key", claim(`"Rome"`, day(3), e))
		if err != nil || p.CandidateID != id || p.FactID != equal.FactID || p.Gates[6].Reason != producers.ReasonEqual {
			t.Errorf("decided late: %+v, %v", p, err)
		}
		if got := f.valueAt(day(20)); got != `"Oslo"` {
			t.Errorf("current is %s", got)
		}
		disjoint(t, f.slot())
	})
}

// An undecided candidate can be forgotten; its command is not decided any more.
func TestUndecidedIsForgotten(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		log := &faultyLog{Log: s.log, kind: events.KindFact}
		log.after = unavailable
		f := s.openOn(t, log, s.rows)
		r := claim(`"Rome"`, day(3), f.capture("maria", "moved"))
		if _, err := f.Propose(t.Context(), user("acme"), "key", r); !errors.Is(err, events.ErrUnavailable) {
			t.Fatal(err)
		}
		slot := f.last(events.KindFact, slotOfMaria(f))
		f.append(slot.Aggregate, slot.Position, events.FactForgotten{Fact: f.slot().Facts[0].Fact, Erasure: newID()})
		if _, err := f.Propose(t.Context(), user("acme"), "key", r); !errors.Is(err, events.ErrForgotten) {
			t.Errorf("%v", err)
		}
		if n := len(f.commits(slot.Aggregate)); n != 2 {
			t.Errorf("%d commits", n)
		}
	})
}

// One command that runs many times at once has one candidate, one decision and
// one answer.
func TestProposeOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		gateways := []*fixture{s.open(t), s.open(t), s.open(t), s.open(t)}
		f := gateways[0]
		r := claim(`"Rome"`, day(3), f.capture("maria", "moved"))
		answers := make([]producers.Proposed, 20)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				var err error
				if answers[i], err = gateways[i%4].Propose(t.Context(), user("acme"), "key", r); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, a := range answers {
			if diff := cmp.Diff(answers[0], a); diff != "" {
				t.Error(diff)
			}
		}
		slot := f.last(events.KindFact, slotOfMaria(f)).Aggregate
		if n := len(f.commits(slot)); n != 2 || answers[0].Decision != events.DecisionPromote {
			t.Errorf("%d commits, %+v", n, answers[0])
		}
	})
}

func TestLowerTrustDoesNotSupersede(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	e := f.capture("maria", "moved")
	f.propose(claim(`"Rome"`, day(3), e))
	p, err := f.Propose(t.Context(), withTrust(user("acme"), events.TrustAgent), "", claim(`"Oslo"`, day(9), e))
	if err != nil || p.Decision != events.DecisionReview || p.Gates[6].Reason != producers.ReasonLowerTrust {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := f.valueAt(day(20)); got != `"Rome"` {
		t.Errorf("current is %s", got)
	}
}

// A value that is itself null is a value.
func TestNullValue(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	p := f.propose(claim(string(jsontext.Value(`null`)), day(3), f.capture("maria", "none")))
	if p.Decision != events.DecisionPromote || f.valueAt(day(4)) != `null` {
		t.Errorf("%+v, %s", p, f.valueAt(day(4)))
	}
}
