package query_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// cutOff is a log that fails right after it has appended what asks to be cut off.
type cutOff struct {
	events.Log
	after func(events.Commit) bool
}

func (l cutOff) Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error) {
	ack, err := l.Log.Append(ctx, c, expect)
	if err == nil && l.after(c) {
		return events.Ack{}, events.ErrUnavailable
	}
	return ack, err
}

// A candidate that is not decided on is in no read, until its command is
// repeated; and that it once was is no version of a fact.
func TestUndecided(t *testing.T) {
	t.Parallel()
	cut := true
	var id string
	o := options(nil)
	o.Clock = nodetest.NewClock()
	o.Log = cutOff{memlog.New("test", o.Clock.Now), func(c events.Commit) bool {
		p, ok := c.Events[0].(events.FactProposed)
		if cut && ok {
			id = p.Fact
			return true
		}
		return false
	}}
	n := &node{nodetest.Start(t, o)}
	source := n.Tell("maria", "I play the cello.")
	r := fact("maria", "plays", `"the cello"`, day(3), source)
	if _, err := n.Propose(t.Context(), user("acme"), "key", r); !errors.Is(err, events.ErrUnavailable) || id == "" {
		t.Fatal(err)
	}
	reads := func() map[string]int {
		found := map[string]int{
			"current": len(n.facts(query.FactsRequest{Subject: "maria"})),
			"history": len(n.facts(query.FactsRequest{Subject: "maria", Include: query.IncludeHistory})),
			"recall":  len(n.ask(query.RecallRequest{Query: "the cello", Kinds: []string{"fact"}}).Results),
		}
		auditor := as(events.RoleAuditor)
		for name, read := range map[string]func() error{
			"fact":     func() error { _, err := n.Fact(t.Context(), user("acme"), n.Get(id)); return err },
			"versions": func() error { _, err := n.FactHistory(t.Context(), auditor, n.Get(id)); return err },
			"lineage":  func() error { _, err := n.FactLineage(t.Context(), auditor, n.Get(id)); return err },
		} {
			switch err := read(); {
			case err == nil:
				found[name] = 1
			case !errors.Is(err, events.ErrNotFound):
				t.Errorf("%s: %v", name, err)
			}
		}
		return found
	}
	if diff := cmp.Diff(map[string]int{"current": 0, "history": 0, "recall": 0}, reads()); diff != "" {
		t.Errorf("undecided: %s", diff)
	}
	cut = false
	if p, err := n.Propose(t.Context(), user("acme"), "key", r); err != nil || p.FactID != id {
		t.Fatalf("%+v, %v", p, err)
	}
	want := map[string]int{"current": 1, "history": 1, "recall": 1, "fact": 1, "versions": 1, "lineage": 1}
	if diff := cmp.Diff(want, reads()); diff != "" {
		t.Errorf("decided: %s", diff)
	}

	unsure := fact("maria", "plays", `"the drums"`, day(4), source)
	unsure.Confidence = new(0.1)
	doubt, err := n.Propose(t.Context(), user("acme"), "", unsure)
	must(t, err)
	waiting := doubt.CandidateID
	n.Promoted(fact("maria", "plays", `"the viola"`, day(5), source))
	if _, err := n.Retract(t.Context(), user("acme"), "", waiting, producers.RetractRequest{Reason: "no"}); err != nil {
		t.Fatal(err)
	}
	history, err := n.FactHistory(t.Context(), as(events.RoleAuditor), n.Get(id))
	must(t, err)
	versions := map[string][]events.FactStatus{}
	for _, v := range history.Versions {
		versions[v.ID] = append(versions[v.ID], v.Status)
	}
	if diff := cmp.Diff([]events.FactStatus{events.StatusActive, events.StatusSuperseded}, versions[id]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]events.FactStatus{events.StatusCandidate, events.StatusRetracted}, versions[waiting]); diff != "" {
		t.Error(diff)
	}
}
