package producers_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
)

// keptOut is a tenant that wants one value kept out.
type keptOut struct{ value string }

func (k keptOut) Has(_ context.Context, _ *seal.Tenant, values ...string) (bool, error) {
	return slices.Contains(values, k.value), nil
}

// Who is not trusted is told the same of every candidate, the first time and each
// time after that, whatever the log says; who is trusted is told why.
func TestUniformAnswer(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		f.Gateway = f.gateway(func(c *producers.Config) {
			c.Scanner, c.Suppressed = scores{"order": 90, "odd": 40}, keptOut{"Atlantis"}
		})
		mine := f.capture("maria", "hello")
		forgotten := f.capture("maria", "forget this")
		f.forgetEpisode(forgotten)
		current := f.propose(claim(`"Rome"`, day(3), mine))
		requests := map[string]func(*producers.ProposeRequest){
			"fine":              func(*producers.ProposeRequest) {},
			"no source":         func(r *producers.ProposeRequest) { r.SourceEpisodes = nil },
			"unknown source":    func(r *producers.ProposeRequest) { r.SourceEpisodes = []string{someID} },
			"forgotten source":  func(r *producers.ProposeRequest) { r.SourceEpisodes = []string{forgotten} },
			"equal value":       func(r *producers.ProposeRequest) { r.Value = []byte(`"Rome"`) },
			"an order":          func(r *producers.ProposeRequest) { r.Value = []byte(`"an order"`) },
			"something odd":     func(r *producers.ProposeRequest) { r.Value = []byte(`"odd"`) },
			"doubtful":          func(r *producers.ProposeRequest) { r.Confidence = new(0.1) },
			"consent missing":   func(r *producers.ProposeRequest) { r.Category = "health" },
			"names the current": func(r *producers.ProposeRequest) { r.Supersedes = current.FactID },
			"names another":     func(r *producers.ProposeRequest) { r.Supersedes = someID },
			"kept out":          func(r *producers.ProposeRequest) { r.Value = []byte(`"Atlantis"`) },
		}
		rejected := 0
		for _, trust := range []events.Trust{events.TrustExternal, events.TrustTool} {
			who := withTrust(user("acme"), trust)
			for name, change := range requests {
				r := claim(`"Oslo"`, day(9), mine)
				change(&r)
				key := trust.String() + name
				n := f.messages()
				got, err := f.Propose(t.Context(), who, key, r)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				want := producers.Proposed{
					CandidateID: commandID(f.tenant(), key), Decision: events.DecisionReview, Superseded: []string{},
					Gates: []events.Gate{{Gate: "provenance", Outcome: events.DecisionReview, Reason: "untrusted_origin"}},
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(producers.Proposed{}, "Policy", "Position")); diff != "" {
					t.Errorf("%s as %s: %s", name, trust, diff)
				}
				if m := f.messages(); m != n+2 || got.Position == 0 {
					t.Errorf("%s as %s: %d messages more, position %d", name, trust, m-n, got.Position)
				}
				again, err := f.Propose(t.Context(), who, key, r)
				if diff := cmp.Diff(got, again); diff != "" || err != nil {
					t.Errorf("%s as %s again: %v %s", name, trust, err, diff)
				}
				fact := f.slot().Find(got.CandidateID)
				if fact.Decision.Decision == events.DecisionReject {
					rejected++
				}
				if name == "kept out" && f.value(fact) != `null` {
					t.Error("what is kept out was written")
				}
				if _, err := f.Retract(t.Context(), who, "", got.CandidateID, producers.RetractRequest{Reason: "r"}); err != nil {
					t.Errorf("%s as %s cannot be withdrawn: %v", name, trust, err)
				}
			}
		}
		if want := 2 * 6; rejected != want {
			t.Errorf("%d are rejected, want %d: the answer hides nothing", rejected, want)
		}
		r := claim(`"Oslo"`, day(9), mine)
		r.SourceEpisodes = []string{someID}
		if p := f.propose(r); p.Decision != events.DecisionReject || len(p.Gates) != 7 {
			t.Errorf("who is trusted is told %+v", p)
		}
		r.Value = []byte(`"Atlantis"`)
		_, err := f.Propose(t.Context(), user("acme"), "", r)
		wantInput(t, err, events.Refused, "suppressed", "value")
	})
}
