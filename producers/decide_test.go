package producers_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/policy"
)

func src(change func(*producers.Evidence)) producers.Evidence {
	e := producers.Evidence{
		Ref: events.SourceRef{Episode: "e1", Subject: "s", Source: "src", At: 7}, Found: true, Trust: events.TrustUser, Principal: "p1",
	}
	if change != nil {
		change(&e)
	}
	return e
}

func never(string) bool { return false }

// caseOf is a certain candidate about the subject s, on the evidence.
func caseOf(trust events.Trust, evidence ...producers.Evidence) producers.Case {
	f := events.FactProposed{Fact: "f", Subject: "s", Confidence: 1, Trust: trust, ObservedAt: day(1)}
	return producers.Case{
		Candidate: producers.Supported(f, evidence, 0),
		Content:   events.FactContent{Predicate: "city", Category: "profile"},
		Basis:     events.Basis{Evidence: producers.EvidenceBasis("s", evidence), At: start()},
	}
}

func decided(list []events.Event) events.FactDecided {
	d, _ := list[0].(events.FactDecided)
	return d
}

func gateNames() []string {
	return []string{"identity", "liveness", "consent", "guardrail", "provenance", "confidence", "conflict"}
}

// The golden table of the decider: each gate, its outcome and its reason.,
// of R-5 the sources, the consent and that nothing else is changed by a decision,
// and gates 1 and 3 of R-43.
func TestDecide(t *testing.T) {
	t.Parallel()
	const (
		promote = events.DecisionPromote
		review  = events.DecisionReview
		reject  = events.DecisionReject
	)
	ok := [7]string{"ok", "ok", "ok", "ok", "trusted_origin", "ok", "no_conflict"}
	with := func(i int, reason string) [7]string {
		r := ok
		r[i] = reason
		return r
	}
	second := func(change func(*producers.Evidence)) producers.Evidence {
		return src(func(e *producers.Evidence) { e.Ref.Episode = "e2"; change(e) })
	}
	forgotten := func(e *producers.Evidence) { e.Forgotten = true }
	retired := func(e *producers.Evidence) { e.Retired = true }
	tool := func(e *producers.Evidence) { e.Trust = events.TrustTool }
	builtin := policy.Default()
	for name, tt := range map[string]struct {
		caller   events.Trust
		evidence []producers.Evidence
		change   func(*producers.Case)
		decision events.Decision
		reasons  [7]string
		trust    events.Trust
	}{
		"promoted":             {events.TrustUser, []producers.Evidence{src(nil)}, nil, promote, ok, events.TrustUser},
		"just confident":       {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Candidate.Confidence = 0.95 }, promote, ok, events.TrustUser},
		"agent":                {events.TrustAgent, []producers.Evidence{src(nil)}, nil, promote, ok, events.TrustAgent},
		"no source":            {events.TrustSystem, nil, nil, reject, with(0, "no_source"), events.TrustSystem},
		"unknown source":       {events.TrustUser, []producers.Evidence{src(nil), {Ref: events.SourceRef{Episode: "e2"}}}, nil, reject, with(0, "unknown_source"), events.TrustUser},
		"impossible source":    {events.TrustUser, []producers.Evidence{src(nil), {}}, nil, reject, with(0, "unknown_source"), events.TrustUser},
		"another's source":     {events.TrustUser, []producers.Evidence{src(func(e *producers.Evidence) { e.Ref.Subject = "z" })}, nil, review, with(0, "source_other_subject"), events.TrustUser},
		"forgotten source":     {events.TrustUser, []producers.Evidence{src(nil), second(forgotten)}, nil, reject, with(1, "source_forgotten"), events.TrustUser},
		"forgotten lends none": {events.TrustUser, []producers.Evidence{src(func(e *producers.Evidence) { e.Forgotten, e.Trust = true, events.TrustTool })}, nil, reject, with(1, "source_forgotten"), events.TrustUser},
		"one retired source": {
			events.TrustUser,
			[]producers.Evidence{src(nil), second(retired)},
			nil, review,
			[7]string{"ok", "source_retired", "ok", "ok", "source_retired", "ok", "no_conflict"},
			events.TrustUser,
		},
		"all sources retired": {
			events.TrustUser,
			[]producers.Evidence{src(retired), second(retired)},
			nil, reject,
			[7]string{"ok", "source_retired", "ok", "ok", "source_retired", "ok", "no_conflict"},
			events.TrustUser,
		},
		"consent withdrawn": {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Basis.Consent = events.ConsentTakenBack }, reject, with(2, "consent_withdrawn"), events.TrustUser},
		"consent missing":   {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Content.Category = "health" }, reject, with(2, "consent_missing"), events.TrustUser},
		"consent given": {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) {
			c.Content.Category, c.Basis.Consent = "health", events.ConsentGiven
		}, promote, ok, events.TrustUser},
		"an order":         {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Basis.Guard = events.Guard{Rules: "r", Score: 80} }, reject, with(3, "instruction"), events.TrustUser},
		"perhaps an order": {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Basis.Guard = events.Guard{Rules: "r", Score: 79} }, review, with(3, "instruction_suspected"), events.TrustUser},
		"a secret":         {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Basis.Guard = events.Guard{Rules: "r", Secrets: 1} }, reject, with(3, "secret"), events.TrustUser},
		"source gives orders": {
			events.TrustUser,
			[]producers.Evidence{src(func(e *producers.Evidence) { e.Guard.Score = 90 })},
			nil, review,
			with(3, "instruction_in_source"), events.TrustUser,
		},
		"tool":             {events.TrustTool, []producers.Evidence{src(nil)}, nil, review, with(4, "untrusted_origin"), events.TrustTool},
		"tool's source":    {events.TrustSystem, []producers.Evidence{src(nil), second(tool)}, nil, review, with(4, "untrusted_origin"), events.TrustTool},
		"external":         {events.TrustExternal, []producers.Evidence{src(nil)}, nil, review, with(4, "untrusted_origin"), events.TrustExternal},
		"human over agent": {events.TrustHuman, []producers.Evidence{src(func(e *producers.Evidence) { e.Trust = events.TrustAgent })}, nil, promote, ok, events.TrustAgent},
		"not confident":    {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Candidate.Confidence = 0.9499 }, review, with(5, "below_threshold"), events.TrustUser},
		"stale version":    {events.TrustUser, []producers.Evidence{src(nil)}, func(c *producers.Case) { c.Basis.Conflict = producers.ReasonStaleVersion }, reject, with(6, "stale_version"), events.TrustUser},
		"worst of all": {
			events.TrustTool, nil, func(c *producers.Case) { c.Candidate.Confidence = 0 }, reject,
			[7]string{"no_source", "ok", "ok", "ok", "untrusted_origin", "below_threshold", "no_conflict"},
			events.TrustTool,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := caseOf(tt.caller, tt.evidence...)
			if tt.change != nil {
				tt.change(&c)
			}
			list := producers.Decide(&events.Slot{}, c, never, builtin)
			if diff := cmp.Diff(list, producers.Decide(&events.Slot{}, c, never, builtin)); diff != "" {
				t.Errorf("the same again differs:\n%s", diff)
			}
			if c.Candidate.Trust != tt.trust {
				t.Errorf("trust %s, want %s", c.Candidate.Trust, tt.trust)
			}
			for _, s := range c.Candidate.Sources {
				if s.Episode == "" {
					t.Error("a source without an id is recorded")
				}
			}
			d := decided(list)
			if d.Decision != tt.decision || d.Policy != builtin.Ref() || (d.Into == "f") != (tt.decision == promote) {
				t.Errorf("decided %+v, want %s", d, tt.decision)
			}
			names := gateNames()
			for i, g := range d.Gates {
				if g.Gate != names[i] || g.Reason != tt.reasons[i] {
					t.Errorf("gate %d: %+v, want %s %s", i, g, names[i], tt.reasons[i])
				}
			}
			if want := map[bool]int{true: 2, false: 1}[tt.decision == promote]; len(d.Gates) != 7 || len(list) != want {
				t.Errorf("%d gates, %d events, want 7 and %d", len(d.Gates), len(list), want)
			}
			if diff := cmp.Diff(d, producers.Again(d, c.Candidate, c.Content, builtin)); diff != "" {
				t.Errorf("from its basis it is another decision:\n%s", diff)
			}
		})
	}
}

// A context lowers what was made from it.
func TestContextLowers(t *testing.T) {
	t.Parallel()
	f := events.FactProposed{Trust: events.TrustAgent}
	for context, want := range map[events.Trust]events.Trust{
		0: events.TrustAgent, events.TrustTool: events.TrustTool, events.TrustSystem: events.TrustAgent,
	} {
		if got := producers.Supported(f, []producers.Evidence{src(nil)}, context).Trust; got != want {
			t.Errorf("context %q: %s, want %s", context, got, want)
		}
	}
}

// fixedPolicy answers with what it holds, sense or nonsense.
type fixedPolicy struct {
	gates  []events.Gate
	needed int
}

func (fixedPolicy) Ref() events.PolicyRef                 { return events.PolicyRef{Name: "p", Version: 2} }
func (p fixedPolicy) Evaluate(policy.Input) []events.Gate { return p.gates }
func (p fixedPolicy) Approvals(policy.Input) int          { return max(p.needed, 1) }

// A policy cannot loosen the floor, and one that says nonsense rejects.
func TestPolicyIsAboveTheFloor(t *testing.T) {
	t.Parallel()
	yes := func(gate string) events.Gate {
		return events.Gate{Gate: gate, Outcome: events.DecisionPromote, Reason: "yes"}
	}
	says := func(gate string, outcome events.Decision) events.Gate {
		return events.Gate{Gate: gate, Outcome: outcome, Reason: "no"}
	}
	withdrawn := func(c *producers.Case) { c.Basis.Consent = events.ConsentTakenBack }
	for name, tt := range map[string]struct {
		trust  events.Trust
		change func(*producers.Case)
		gates  []events.Gate
		want   events.Decision
	}{
		"lets through":             {events.TrustUser, nil, []events.Gate{yes("confidence")}, events.DecisionPromote},
		"adds nothing":             {events.TrustUser, nil, nil, events.DecisionPromote},
		"cannot trust a tool":      {events.TrustTool, nil, []events.Gate{yes("provenance"), yes("confidence")}, events.DecisionReview},
		"cannot do without a yes":  {events.TrustUser, withdrawn, []events.Gate{yes("consent")}, events.DecisionReject},
		"quarantines":              {events.TrustUser, nil, []events.Gate{yes("confidence"), says("guardrail", events.DecisionQuarantine)}, events.DecisionQuarantine},
		"tightens provenance":      {events.TrustUser, nil, []events.Gate{says("provenance", events.DecisionReview)}, events.DecisionReview},
		"nonsense is rejected":     {events.TrustUser, nil, []events.Gate{says("confidence", "maybe")}, events.DecisionReject},
		"nothing is rejected":      {events.TrustUser, nil, []events.Gate{{}}, events.DecisionReject},
		"has no say in identity":   {events.TrustUser, nil, []events.Gate{yes("identity")}, events.DecisionReject},
		"has no say in a conflict": {events.TrustUser, nil, []events.Gate{yes("conflict")}, events.DecisionReject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := caseOf(tt.trust, src(nil))
			if tt.change != nil {
				tt.change(&c)
			}
			d := decided(producers.Decide(&events.Slot{}, c, never, fixedPolicy{gates: tt.gates}))
			if d.Decision != tt.want || d.Policy.Version != 2 || len(d.Gates) != 7 {
				t.Errorf("%+v, want %s", d, tt.want)
			}
		})
	}
}

// An approval lifts what asks for a review, by as many reviewers as the policy
// wants, and nothing else.
func TestApproval(t *testing.T) {
	t.Parallel()
	by := func(reviewer string, v events.Verdict) events.ReviewBasis {
		return events.ReviewBasis{Reviewer: reviewer, Verdict: v}
	}
	yes := by("r1", events.VerdictApprove)
	suspicious := func(c *producers.Case) { c.Basis.Guard = events.Guard{Rules: "r", Score: 40} }
	says := func(gate string, d events.Decision) fixedPolicy {
		return fixedPolicy{gates: []events.Gate{{Gate: gate, Outcome: d, Reason: "rule"}}}
	}
	twice := says("guardrail", events.DecisionReview)
	twice.needed = 2
	for name, tt := range map[string]struct {
		trust   events.Trust
		change  func(*producers.Case)
		by      producers.Evaluator
		reviews []events.ReviewBasis
		want    events.Decision
		reason  string
	}{
		"of a tool":              {events.TrustTool, nil, policy.Default(), []events.ReviewBasis{yes}, events.DecisionPromote, "approved"},
		"control":                {events.TrustTool, nil, policy.Default(), nil, events.DecisionReview, "untrusted_origin"},
		"of a suspicion":         {events.TrustUser, suspicious, policy.Default(), []events.ReviewBasis{yes}, events.DecisionPromote, "approved"},
		"of a quarantine":        {events.TrustUser, nil, says("guardrail", events.DecisionQuarantine), []events.ReviewBasis{yes}, events.DecisionPromote, "approved"},
		"of no rejection":        {events.TrustUser, nil, says("guardrail", events.DecisionReject), []events.ReviewBasis{yes}, events.DecisionReject, "rule"},
		"of another's source":    {events.TrustUser, func(c *producers.Case) { c.Basis.Evidence[0].Other = true }, policy.Default(), []events.ReviewBasis{yes}, events.DecisionPromote, "approved"},
		"of no consent":          {events.TrustUser, nil, says("consent", events.DecisionReview), []events.ReviewBasis{yes}, events.DecisionReview, "rule"},
		"of nothing withdrawn":   {events.TrustUser, func(c *producers.Case) { c.Basis.Consent = events.ConsentTakenBack }, policy.Default(), []events.ReviewBasis{yes}, events.DecisionReject, "consent_withdrawn"},
		"one of two":             {events.TrustUser, nil, twice, []events.ReviewBasis{yes}, events.DecisionReview, "rule"},
		"one of two, twice":      {events.TrustUser, nil, twice, []events.ReviewBasis{yes, yes}, events.DecisionReview, "rule"},
		"two of two":             {events.TrustUser, nil, twice, []events.ReviewBasis{yes, by("r2", events.VerdictApprove)}, events.DecisionPromote, "approved"},
		"turned down":            {events.TrustUser, nil, policy.Default(), []events.ReviewBasis{by("r1", events.VerdictReject)}, events.DecisionReject, "review_rejected"},
		"turned down by another": {events.TrustTool, nil, policy.Default(), []events.ReviewBasis{yes, by("r2", events.VerdictReject)}, events.DecisionReject, "review_rejected"},
		"edited":                 {events.TrustUser, nil, policy.Default(), []events.ReviewBasis{by("r1", events.VerdictEdit)}, events.DecisionReject, "edited"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := caseOf(tt.trust, src(nil))
			if tt.change != nil {
				tt.change(&c)
			}
			c.Basis.Reviews = tt.reviews
			d := decided(producers.Decide(&events.Slot{}, c, never, tt.by))
			if d.Decision != tt.want || !slices.ContainsFunc(d.Gates, func(g events.Gate) bool { return g.Reason == tt.reason }) {
				t.Errorf("%+v, want %s for %s", d, tt.want, tt.reason)
			}
		})
	}
}

// What a reviewer has approved takes its place from a fact of higher trust, which
// it does not without.
func TestApprovedConflict(t *testing.T) {
	t.Parallel()
	rome := events.FactProposed{Fact: "rome", Subject: "s", Trust: events.TrustUser, ObservedAt: day(1)}
	slot := events.Slot{Facts: []*events.SlotFact{{
		FactProposed: rome, Status: events.StatusActive, Valid: []events.Interval{{From: day(1)}},
	}}}
	for name, observed := range map[string]int{"later": 5, "at the same time": 1} {
		c := caseOf(events.TrustTool, src(nil))
		c.Candidate.ObservedAt = day(observed)
		list := producers.Decide(&slot, c, never, policy.Default())
		if d := decided(list); d.Decision != events.DecisionReview || d.Basis.Conflict != producers.ReasonLowerTrust {
			t.Errorf("%s: %+v", name, d)
		}
		c.Basis.Reviews = []events.ReviewBasis{{Reviewer: "r", Verdict: events.VerdictApprove}}
		list = producers.Decide(&slot, c, never, policy.Default())
		d := decided(list)
		if d.Decision != events.DecisionPromote || d.Basis.Conflict != producers.ReasonLowerTrust || len(list) != 3 {
			t.Errorf("%s, approved: %+v", name, list)
		}
		if diff := cmp.Diff(d, producers.Again(d, c.Candidate, c.Content, policy.Default())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
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
		"retired since":    {src(nil), src(func(e *producers.Evidence) { e.Retired = true }), events.DecisionReject, "source_retired"},
		"captured since":   {unknown, src(func(e *producers.Evidence) { e.Trust = events.TrustTool }), events.DecisionReject, "unknown_source"},
		"was never anyone": {unknown, unknown, events.DecisionReject, "unknown_source"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := caseOf(events.TrustUser, tt.before)
			slot := events.Slot{Facts: []*events.SlotFact{{FactProposed: c.Candidate, Status: events.StatusCandidate}}}
			c.Basis.Evidence = producers.EvidenceBasis("s", []producers.Evidence{tt.after})
			d := decided(producers.Decide(&slot, c, never, policy.Default()))
			if d.Decision != tt.decision || !slices.ContainsFunc(d.Gates, func(g events.Gate) bool {
				return g.Outcome == tt.decision && g.Reason == tt.reason
			}) {
				t.Errorf("%+v, want %s for %s", d, tt.decision, tt.reason)
			}
		})
	}
}
