package producers_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

// The shapes in which what is known changes. The slot has the new version, and the
// history keeps the old one whole.
func TestShapesOfChange(t *testing.T) {
	t.Parallel()
	type version struct {
		day  int
		want string
	}
	for name, tt := range map[string]struct {
		first, second string
		change        func(*producers.ProposeRequest)
		want          []version
	}{
		"replacement": {`"Rome"`, `"Oslo"`, nil, []version{{4, `"Rome"`}, {8, `"Rome"`}, {9, `"Oslo"`}, {30, `"Oslo"`}}},
		"polarity":    {`{"likes":true}`, `{"likes":false}`, nil, []version{{8, `{"likes":true}`}, {9, `{"likes":false}`}}},
		"one field": {
			`{"street":"Via Roma 1","zip":"00100"}`, `{"street":"Via Roma 1","zip":"00184"}`, nil,
			[]version{{8, `{"street":"Via Roma 1","zip":"00100"}`}, {9, `{"street":"Via Roma 1","zip":"00184"}`}},
		},
		"bounded": {
			`"Rome"`, `"Oslo"`, func(r *producers.ProposeRequest) { r.ValidFrom, r.ValidTo = at(day(5)), at(day(7)) },
			[]version{{4, `"Rome"`}, {5, `"Oslo"`}, {6, `"Oslo"`}, {7, `"Rome"`}, {30, `"Rome"`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := inMemory(t).open(t)
			e := f.capture("maria", "told")
			first := f.propose(claim(tt.first, day(3), e))
			r := claim(tt.second, day(9), e)
			r.Supersedes = strings.ToUpper(first.FactID)
			if tt.change != nil {
				tt.change(&r)
			}
			second := f.propose(r)
			if diff := cmp.Diff([]string{first.FactID}, second.Superseded); diff != "" {
				t.Error(diff)
			}
			for _, v := range tt.want {
				if got := f.valueAt(day(v.day)); got != v.want {
					t.Errorf("day %d: %s, want %s", v.day, got, v.want)
				}
			}
			slot := f.slot()
			disjoint(t, slot)
			if old := f.value(slot.Find(first.FactID)); old != tt.first {
				t.Errorf("the old version says %s", old)
			}
		})
	}
	t.Run("retraction", func(t *testing.T) {
		t.Parallel()
		f := inMemory(t).open(t)
		e := f.capture("maria", "told")
		first := f.propose(claim(`"Rome"`, day(3), e))
		if _, err := f.Retract(t.Context(), user("acme"), "", first.FactID, producers.RetractRequest{Reason: "wrong"}); err != nil {
			t.Fatal(err)
		}
		if got := f.valueAt(start().AddDate(0, 0, 1)); got != "" {
			t.Errorf("%s is still true", got)
		}
		if got := f.valueAt(day(9)); got != `"Rome"` {
			t.Errorf("%s was true before, want Rome", got)
		}
		r := claim(`"Oslo"`, start(), e)
		r.ValidFrom, r.Supersedes = at(start().AddDate(0, 0, 1)), first.FactID
		if _, err := f.Propose(t.Context(), user("acme"), "", r); !errors.Is(err, events.ErrConflict) {
			t.Errorf("what was retracted is superseded: %v", err)
		}
	})
}

// A value of lower trust takes nothing from one of higher trust, in whatever shape.
func TestLowerTrustTakesNothing(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*producers.ProposeRequest){
		"replacement": func(*producers.ProposeRequest) {},
		"bounded":     func(r *producers.ProposeRequest) { r.ValidFrom, r.ValidTo = at(day(5)), at(day(7)) },
		"naming it":   func(r *producers.ProposeRequest) { r.Supersedes = "it" },
	} {
		for _, trust := range []events.Trust{events.TrustExternal, events.TrustTool, events.TrustAgent} {
			f := inMemory(t).open(t)
			e := f.capture("maria", "told")
			first := f.propose(claim(`"Rome"`, day(3), e))
			r := claim(`"Oslo"`, day(9), e)
			if change(&r); r.Supersedes != "" {
				r.Supersedes = first.FactID
			}
			p, err := f.Propose(t.Context(), withTrust(user("acme"), trust), "", r)
			if err != nil || p.Decision != events.DecisionReview || len(p.Superseded) != 0 {
				t.Errorf("%s by %s: %+v, %v", name, trust, p, err)
			}
			for d := 3; d < 31; d++ {
				if got := f.valueAt(day(d)); got != `"Rome"` {
					t.Errorf("%s by %s: day %d has %s", name, trust, d, got)
				}
			}
		}
	}
}

// Who supersedes another version than the one that is there is told where the slot
// stands, and nothing is written.
func TestSupersedesAnotherVersion(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	ctx, who := t.Context(), user("acme")
	e := f.capture("maria", "moved a lot")
	rome := f.propose(claim(`"Rome"`, day(3), e))
	oslo := f.propose(claim(`"Oslo"`, day(9), e))
	n := f.messages()
	for name, tt := range map[string]struct {
		names string
		from  int
		stale bool
	}{
		"the current one":          {oslo.FactID, 12, false},
		"the one before":           {rome.FactID, 12, true},
		"the one that was current": {rome.FactID, 5, false},
		"none was current":         {rome.FactID, 1, true},
		"unknown":                  {someID, 12, true},
		"no opinion":               {"", 12, false},
	} {
		f := f
		if !tt.stale { // on a slot of its own, for it changes it
			f = inMemory(t).open(t)
			e := f.capture("maria", "moved a lot")
			names := map[string]string{"": ""}
			names[rome.FactID] = f.propose(claim(`"Rome"`, day(3), e)).FactID
			names[oslo.FactID] = f.propose(claim(`"Oslo"`, day(9), e)).FactID
			r := claim(`"Bonn"`, day(20), e)
			r.ValidFrom, r.Supersedes = at(day(tt.from)), names[tt.names]
			if p, err := f.Propose(ctx, who, "", r); err != nil || p.Decision != events.DecisionPromote {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			continue
		}
		r := claim(`"Bonn"`, day(20), e)
		r.ValidFrom, r.Supersedes = at(day(tt.from)), tt.names
		for range 2 {
			_, err := f.Propose(ctx, who, "key "+name, r)
			if conflict, ok := errors.AsType[*events.ConflictError](err); !ok || conflict.Actual != oslo.Position {
				t.Errorf("%s: %v, want a conflict at %d", name, err, oslo.Position)
			}
		}
	}
	if m := f.messages(); m != n {
		t.Errorf("%d messages, want %d", m, n)
	}
	r := claim(`"Bonn"`, day(20), e)
	r.Supersedes = "rome"
	_, err := f.Propose(ctx, who, "", r)
	wantInput(t, err, events.Malformed, "not_an_id", "supersedes")
}

// Of those who supersede one version at once one wins, and the others are told, in
// one process and in several.
func TestSupersedeAtOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		const n = 12
		gateways := []*fixture{s.open(t), s.open(t)}
		f := gateways[0]
		e := f.capture("maria", "confused")
		first := f.propose(claim(`"Rome"`, day(3), e))
		won := make([]bool, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				r := claim(fmt.Sprint(i), day(9), e)
				r.Supersedes = first.FactID
				p, err := gateways[i%2].Propose(t.Context(), user("acme"), fmt.Sprint(i), r)
				won[i] = err == nil && p.Decision == events.DecisionPromote
				if !won[i] && !errors.Is(err, events.ErrConflict) {
					t.Errorf("%d: %+v, %v", i, p, err)
				}
			})
		}
		wg.Wait()
		winners := 0
		for i := range n {
			r := claim(fmt.Sprint(i), day(9), e)
			r.Supersedes = first.FactID
			_, err := f.Propose(t.Context(), user("acme"), fmt.Sprint(i), r)
			if won[i] {
				winners++
			}
			if won[i] != (err == nil) {
				t.Errorf("%d was told %t and then %v", i, won[i], err)
			}
		}
		disjoint(t, f.slot())
		if winners != 1 || f.valueAt(day(20)) == `"Rome"` {
			t.Errorf("%d have won", winners)
		}
	})
}

// One who was faster after the candidate was written: it is rejected, for good.
func TestSupersededMeanwhile(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	log := &faultyLog{Log: s.log, kind: events.KindFact}
	f := s.openOn(t, log, s.rows)
	faster := s.open(t)
	e := f.capture("maria", "moved")
	first := f.propose(claim(`"Rome"`, day(3), e))
	r := claim(`"Oslo"`, day(9), e)
	r.Supersedes = first.FactID
	log.after = func() error {
		faster.propose(claim(`"Bonn"`, day(8), e))
		return nil
	}
	for range 2 {
		_, err := f.Propose(t.Context(), user("acme"), "key", r)
		if conflict, ok := errors.AsType[*events.ConflictError](err); !ok || conflict.Actual == 0 {
			t.Fatalf("%v, want a conflict", err)
		}
	}
	loser := f.slot().Find(commandID(f.tenant(), "key"))
	if loser == nil || loser.Status != events.StatusRejected || loser.Decision.Basis.Conflict != producers.ReasonStaleVersion {
		t.Errorf("%+v", loser)
	}
	if got := f.valueAt(day(20)); got != `"Bonn"` {
		t.Errorf("%s is true", got)
	}
}
