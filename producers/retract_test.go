package producers_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

func TestRetract(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		ctx, who := t.Context(), user("acme")
		e := f.capture("maria", "moved")
		p := f.propose(claim(`"Rome"`, day(3), e))
		q := claim(`"Oslo"`, day(3), e)
		q.Predicate = "other"
		neighbour := f.propose(q)
		reason := producers.RetractRequest{Reason: "was a joke"}
		for name, id := range map[string]string{"not an id": "maria", "unknown": someID, "an episode": e} {
			if _, err := f.Retract(ctx, who, "", id, reason); !errors.Is(err, events.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := f.Retract(ctx, user("acme-corp"), "", p.FactID, reason); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}
		_, err := f.Retract(ctx, withTrust(who, events.TrustTool), "", p.FactID, reason)
		wantInput(t, err, events.Refused, "lower_trust", "fact")
		w, err := f.Retract(ctx, who, "key", strings.ToUpper(p.FactID), reason)
		if err != nil || w.Position <= p.Position {
			t.Fatalf("%+v, %v", w, err)
		}
		for _, key := range []string{"key", "", "another"} {
			if again, err := f.Retract(ctx, who, key, p.FactID, reason); err != nil || again != w {
				t.Errorf("again under %q: %+v, %v", key, again, err)
			}
		}
		if _, err := f.Retract(ctx, who, "key", neighbour.FactID, reason); !errors.Is(err, events.ErrKeyReused) {
			t.Errorf("key for another fact: %v", err)
		}
		fact := f.slot().Find(p.FactID)
		if fact.Status != events.StatusRetracted || len(fact.Valid) != 1 || !fact.Valid[0].To.Equal(start()) {
			t.Errorf("%+v", fact)
		}
		if f.slotOf("maria", "other").At(start()) == nil {
			t.Error("the neighbour was retracted too")
		}
		if p := f.propose(claim(`"Rome"`, day(4), e)); f.valueAt(start()) != "" {
			t.Errorf("came back: %+v", p)
		}
		slot := f.last(events.KindFact, slotOfMaria(f))
		f.append(slot.Aggregate, slot.Position, events.FactForgotten{Fact: p.FactID, Erasure: newID()})
		if _, err := f.Retract(ctx, who, "", p.FactID, reason); !errors.Is(err, events.ErrForgotten) {
			t.Errorf("forgotten: %v", err)
		}
		f.forgetSubject("maria")
		if _, err := f.Retract(ctx, who, "", neighbour.FactID, reason); !errors.Is(err, events.ErrForgotten) {
			t.Errorf("forgotten subject: %v", err)
		}
	})
}

func TestRetractCandidates(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	e := f.capture("maria", "moved")
	reason := producers.RetractRequest{Reason: "no"}
	unsure := claim(`1`, day(3), e)
	unsure.Confidence = new(0.5)
	p := f.propose(unsure)
	if _, err := f.Retract(t.Context(), user("acme"), "", p.CandidateID, reason); err != nil {
		t.Fatal(err)
	}
	if c := f.slot().Find(p.CandidateID); c.Status != events.StatusRetracted || len(c.Valid) != 0 {
		t.Errorf("%+v", c)
	}
	f.propose(claim(`2`, day(3), e))
	for name, id := range map[string]string{
		"rejected": f.propose(claim(`3`, day(3))).CandidateID,
		"merged":   f.propose(claim(`2`, day(4), e)).CandidateID,
	} {
		if _, err := f.Retract(t.Context(), user("acme"), "", id, reason); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRetractAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		gateways := []*fixture{s.open(t), s.open(t)}
		f := gateways[0]
		p := f.propose(claim(`"Rome"`, day(3), f.capture("maria", "moved")))
		before := f.messages()
		const n = 20
		answers := make([]producers.Written, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				var err error
				answers[i], err = gateways[i%2].Retract(t.Context(), user("acme"), "", p.FactID, producers.RetractRequest{Reason: "r"})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, a := range answers {
			if a != answers[0] || a.Position == 0 {
				t.Errorf("%+v, want %+v", a, answers[0])
			}
		}
		if m := f.messages(); m != before+1 {
			t.Errorf("%d messages, want %d", m, before+1)
		}
	})
}
