package query_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// What became of a candidate is not told to an external or tool channel: until it is
// promoted it is not there, be it rejected or waiting.
func TestConcealed(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	propose := func(r producers.ProposeRequest) producers.Proposed {
		p, err := n.Propose(t.Context(), user("acme"), "", r)
		must(t, err)
		return p
	}
	source := n.Tell("maria", "I play the cello.")
	shown := propose(fact("maria", "plays", `"the cello"`, day(3), source))
	waits := fact("maria", "plays", `"the viola"`, day(4), source)
	waits.Confidence = new(0.5)
	waiting := propose(waits)
	wrong := fact("maria", "plays", `"the drum"`, day(5), source)
	wrong.SourceEpisodes = nil
	rejected := propose(wrong)
	if shown.Decision != events.DecisionPromote || waiting.Decision != events.DecisionReview || rejected.Decision != events.DecisionReject {
		t.Fatal("control")
	}
	end := n.End()
	for _, trust := range []events.Trust{events.TrustExternal, events.TrustTool, events.TrustUser} {
		who := user("acme")
		who.Trust = trust
		who.Roles = append(who.Roles, events.RoleAuditor) // no role makes a channel any better
		for id, hidden := range map[string]bool{shown.CandidateID: false, waiting.CandidateID: true, rejected.CandidateID: true} {
			var want error
			if hidden && trust <= events.TrustTool {
				want = events.ErrNotFound
			}
			req := query.RecordRequest{ID: id, WaitFor: end}
			_, one := n.Fact(t.Context(), who, req)
			_, history := n.FactHistory(t.Context(), who, req)
			_, lineage := n.FactLineage(t.Context(), who, req)
			for name, err := range map[string]error{"fact": one, "history": history, "lineage": lineage} {
				if !errors.Is(err, want) {
					t.Errorf("%s of %s to %s: %v, want %v", name, id, trust, err, want)
				}
			}
		}
	}
}
