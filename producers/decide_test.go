package producers_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

func src(change func(*producers.Evidence)) producers.Evidence {
	e := producers.Evidence{Ref: events.SourceRef{Episode: "e1", Subject: "s"}, Found: true, Trust: events.TrustUser}
	if change != nil {
		change(&e)
	}
	return e
}

// The golden table of the decider: and gates 1 and 3 of R-43.
func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		promote = events.DecisionPromote
		review  = events.DecisionReview
		reject  = events.DecisionReject
	)
	ok := [5]string{"ok", "ok", "trusted_origin", "confident", "no_conflict"}
	with := func(i int, reason string) [5]string {
		r := ok
		r[i] = reason
		return r
	}
	for name, tt := range map[string]struct {
		caller     events.Trust
		confidence float64
		evidence   []producers.Evidence
		decision   events.Decision
		reasons    [5]string
		trust      events.Trust
	}{
		"promoted":             {events.TrustUser, 1, []producers.Evidence{src(nil)}, promote, ok, events.TrustUser},
		"just confident":       {events.TrustUser, 0.95, []producers.Evidence{src(nil)}, promote, ok, events.TrustUser},
		"agent":                {events.TrustAgent, 1, []producers.Evidence{src(nil)}, promote, ok, events.TrustAgent},
		"no source":            {events.TrustSystem, 1, nil, reject, with(0, "no_source"), events.TrustSystem},
		"unknown source":       {events.TrustUser, 1, []producers.Evidence{src(nil), {Ref: events.SourceRef{Episode: "e2"}}}, reject, with(0, "unknown_source"), events.TrustUser},
		"impossible source":    {events.TrustUser, 1, []producers.Evidence{src(nil), {}}, reject, with(0, "unknown_source"), events.TrustUser},
		"another's source":     {events.TrustUser, 1, []producers.Evidence{src(func(e *producers.Evidence) { e.Ref.Subject = "z" })}, review, with(0, "source_other_subject"), events.TrustUser},
		"forgotten source":     {events.TrustUser, 1, []producers.Evidence{src(nil), src(func(e *producers.Evidence) { e.Ref.Episode, e.Forgotten = "e2", true })}, reject, with(1, "source_forgotten"), events.TrustUser},
		"tool":                 {events.TrustTool, 1, []producers.Evidence{src(nil)}, review, with(2, "untrusted_origin"), events.TrustTool},
		"tool's source":        {events.TrustSystem, 1, []producers.Evidence{src(nil), src(func(e *producers.Evidence) { e.Ref.Episode, e.Trust = "e2", events.TrustTool })}, review, with(2, "untrusted_origin"), events.TrustTool},
		"external":             {events.TrustExternal, 1, []producers.Evidence{src(nil)}, review, with(2, "untrusted_origin"), events.TrustExternal},
		"human over agent":     {events.TrustHuman, 1, []producers.Evidence{src(func(e *producers.Evidence) { e.Trust = events.TrustAgent })}, promote, ok, events.TrustAgent},
		"not confident":        {events.TrustUser, 0.9499, []producers.Evidence{src(nil)}, review, with(3, "below_threshold"), events.TrustUser},
		"worst of both":        {events.TrustTool, 0, nil, reject, [5]string{"no_source", "ok", "untrusted_origin", "below_threshold", "no_conflict"}, events.TrustTool},
		"forgotten lends none": {events.TrustUser, 1, []producers.Evidence{src(func(e *producers.Evidence) { e.Forgotten, e.Trust = true, events.TrustTool })}, reject, with(1, "source_forgotten"), events.TrustUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := events.FactProposed{Fact: "f", Subject: "s", Confidence: tt.confidence, Trust: tt.caller, ObservedAt: day(1)}
			policy := producers.DefaultPolicy()
			never := func(string) bool { return false }
			proposed := producers.Supported(f, tt.evidence)
			list := producers.Decide(&events.Slot{}, proposed, tt.evidence, never, policy)
			if diff := cmp.Diff(list, producers.Decide(&events.Slot{}, proposed, tt.evidence, never, policy)); diff != "" {
				t.Errorf("the same again differs:\n%s", diff)
			}
			if proposed.Trust != tt.trust {
				t.Errorf("trust %s, want %s", proposed.Trust, tt.trust)
			}
			for _, s := range proposed.Sources {
				if s.Episode == "" {
					t.Error("a source without an id is recorded")
				}
			}
			d, _ := list[0].(events.FactDecided)
			if d.Decision != tt.decision || d.Policy != policy.Ref() || (d.Into == "f") != (tt.decision == promote) {
				t.Errorf("decided %+v, want %s", d, tt.decision)
			}
			names := []string{"identity", "liveness", "provenance", "confidence", "conflict"}
			for i, g := range d.Gates {
				if g.Gate != names[i] || g.Reason != tt.reasons[i] {
					t.Errorf("gate %d: %+v, want %s %s", i, g, names[i], tt.reasons[i])
				}
			}
			if want := map[bool]int{true: 2, false: 1}[tt.decision == promote]; len(d.Gates) != 5 || len(list) != want {
				t.Errorf("%d gates, %d events, want 5 and %d", len(d.Gates), len(list), want)
			}
		})
	}
}

// brokenPolicy answers with what does not exist.
type brokenPolicy struct{ gates []events.Gate }

func (p brokenPolicy) Evaluate(producers.PolicyInput) []events.Gate { return p.gates }

// A policy cannot loosen the floor, and one that says nonsense rejects.
func TestPolicyIsAboveTheFloor(t *testing.T) {
	t.Parallel()
	yes := events.Gate{Gate: "any", Outcome: events.DecisionPromote, Reason: "yes"}
	for name, tt := range map[string]struct {
		trust events.Trust
		gates []events.Gate
		want  events.Decision
	}{
		"lets through":         {events.TrustUser, []events.Gate{yes}, events.DecisionPromote},
		"adds nothing":         {events.TrustUser, nil, events.DecisionPromote},
		"cannot trust a tool":  {events.TrustTool, []events.Gate{yes, yes}, events.DecisionReview},
		"quarantines":          {events.TrustUser, []events.Gate{yes, {Gate: "any", Outcome: events.DecisionQuarantine}}, events.DecisionQuarantine},
		"nonsense is rejected": {events.TrustUser, []events.Gate{{Gate: "any", Outcome: "maybe"}}, events.DecisionReject},
		"nothing is rejected":  {events.TrustUser, []events.Gate{{}}, events.DecisionReject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := events.FactProposed{Fact: "f", Subject: "s", Confidence: 1, Trust: tt.trust, ObservedAt: day(1)}
			p := producers.Policy{Name: "p", Version: 2, Text: "t", Evaluator: brokenPolicy{tt.gates}}
			f = producers.Supported(f, []producers.Evidence{src(nil)})
			list := producers.Decide(&events.Slot{}, f, []producers.Evidence{src(nil)}, func(string) bool { return false }, p)
			if d, _ := list[0].(events.FactDecided); d.Decision != tt.want || d.Policy.Version != 2 || len(d.Policy.Hash) != 64 {
				t.Errorf("%+v, want %s", d, tt.want)
			}
		})
	}
}

// The decision sees what the log says then. What the candidate did not know as a
// source it does not become by appearing later: it would have lent no trust.
func TestDecideOnNewerEvidence(t *testing.T) {
	t.Parallel()
	unknown := producers.Evidence{Ref: events.SourceRef{Episode: "e1"}}
	for name, tt := range map[string]struct {
		before, after producers.Evidence
		decision      events.Decision
		reason        string
	}{
		"nothing new":      {src(nil), src(nil), events.DecisionPromote, "ok"},
		"forgotten since":  {src(nil), src(func(e *producers.Evidence) { e.Forgotten = true }), events.DecisionReject, "source_forgotten"},
		"captured since":   {unknown, src(func(e *producers.Evidence) { e.Trust = events.TrustTool }), events.DecisionReject, "unknown_source"},
		"was never anyone": {unknown, unknown, events.DecisionReject, "unknown_source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := events.FactProposed{Fact: "f", Subject: "s", Confidence: 1, Trust: events.TrustUser, ObservedAt: day(1)}
			f = producers.Supported(f, []producers.Evidence{tt.before})
			slot := events.Slot{Facts: []*events.SlotFact{{FactProposed: f, Status: events.StatusCandidate}}}
			list := producers.Decide(&slot, f, []producers.Evidence{tt.after}, func(string) bool { return false }, producers.DefaultPolicy())
			d, _ := list[0].(events.FactDecided)
			if d.Decision != tt.decision || !slices.ContainsFunc(d.Gates, func(g events.Gate) bool {
				return g.Outcome == tt.decision && g.Reason == tt.reason
			}) {
				t.Errorf("%+v, want %s for %s", d, tt.decision, tt.reason)
			}
		})
	}
}
