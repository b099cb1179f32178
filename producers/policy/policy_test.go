package policy_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// rules is a policy of those rules.
func rules(list string) string {
	return "name: promotion\nversion: 7\nrules:\n" + list
}

// rule is a policy of one rule of the guardrail.
func rule(when string) string {
	return rules("  - {id: r, gate: guardrail, outcome: review, when: '" + strings.ReplaceAll(when, "'", "''") + "'}\n")
}

func parse(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// certain is an input that nothing speaks against.
func certain() policy.Input {
	return policy.Input{
		Predicate: "city", Category: "profile", Scope: "home", Confidence: 1, Trust: events.TrustUser,
		Evidence: []events.EvidenceBasis{{Found: true, Trust: events.TrustUser, Principal: "p1"}},
		Conflict: "no_conflict", At: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}
}

// outcomes are the gates as "gate outcome reason".
func outcomes(gates []events.Gate) []string {
	list := make([]string, len(gates))
	for i, g := range gates {
		list[i] = g.Gate + " " + string(g.Outcome) + " " + g.Reason
	}
	return list
}

func TestDefault(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	if ref := p.Ref(); ref.Name != "promotion" || ref.Version != 1 || ref.Hash != policy.Hash(p.Text()) {
		t.Errorf("ref %+v", ref)
	}
	for name, c := range map[string]struct {
		edit func(*policy.Input)
		want string // the gate that differs from ok
	}{
		"certain":       {func(*policy.Input) {}, ""},
		"just certain":  {func(in *policy.Input) { in.Confidence = 0.95 }, ""},
		"doubtful":      {func(in *policy.Input) { in.Confidence = 0.9499 }, "confidence review below_threshold"},
		"health":        {func(in *policy.Input) { in.Category = "health" }, "consent rejected consent_missing"},
		"consented":     {func(in *policy.Input) { in.Category, in.Consent = "health", "granted" }, ""},
		"withdrawn":     {func(in *policy.Input) { in.Category, in.Consent = "health", "withdrawn" }, "consent rejected consent_missing"},
		"score 29":      {func(in *policy.Input) { in.Guard.Score = 29 }, ""},
		"score 30":      {func(in *policy.Input) { in.Guard.Score = 30 }, "guardrail review instruction_suspected"},
		"score 80":      {func(in *policy.Input) { in.Guard.Score = 80 }, "guardrail rejected instruction"},
		"a secret":      {func(in *policy.Input) { in.Guard.Secrets = 1 }, "guardrail rejected secret"},
		"a card":        {func(in *policy.Input) { in.Guard.Personal = []string{"credit_card"} }, "guardrail rejected card_number"},
		"a telephone":   {func(in *policy.Input) { in.Guard.Personal = []string{"phone"} }, ""},
		"a bad source":  {func(in *policy.Input) { in.Evidence[0].Guard.Score = 80 }, "guardrail review instruction_in_source"},
		"an old source": {func(in *policy.Input) { in.Evidence[0].Retired = true }, "provenance review source_retired"},
	} {
		in := certain()
		c.edit(&in)
		want := []string{"consent promoted ok", "guardrail promoted ok", "provenance promoted ok", "confidence promoted ok"}
		for i, w := range want {
			if g, _, _ := strings.Cut(c.want, " "); g != "" && strings.HasPrefix(w, g) {
				want[i] = c.want
			}
		}
		if diff := cmp.Diff(want, outcomes(p.Evaluate(in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := p.Approvals(in); n != 1 {
			t.Errorf("%s: %d approvals", name, n)
		}
	}
	if c := p.Category("health"); !c.Special || !c.NeedsConsent || c.Horizon != 0 || c.Retention.Rejected.String() != "30d" {
		t.Errorf("health %+v", c)
	}
	if c := p.Category("task"); c.Special || c.NeedsConsent || c.Horizon != 7*24*time.Hour {
		t.Errorf("task %+v", c)
	}
	if c := p.Category("other"); c.Special || c.NeedsConsent || c.Retention.Unreviewed.String() != "90d" {
		t.Errorf("other %+v", c)
	}
}

// The worst outcome wins, the first rule with it is the reason, and the order of
// the gates is not that of the rules.
func TestWorstWins(t *testing.T) {
	t.Parallel()
	p := parse(t, rules(`
  - {id: a, gate: confidence, outcome: review, when: "true"}
  - {id: b, gate: confidence, outcome: quarantine, when: cand.confidence < 0.5, approvals: 2}
  - {id: c, gate: confidence, outcome: quarantine, when: cand.confidence < 0.6, approvals: 3}
  - {id: d, gate: confidence, outcome: reject, when: cand.confidence < 0.1}
  - {id: e, gate: consent, outcome: review, when: cand.confidence < 0.1}
`))
	for _, c := range []struct {
		confidence float64
		gate       string
		consent    string
		approvals  int
	}{
		{1, "confidence review a", "consent promoted ok", 1},
		{0.55, "confidence quarantined c", "consent promoted ok", 3},
		{0.4, "confidence quarantined b", "consent promoted ok", 3},
		{0.05, "confidence rejected d", "consent review e", 3},
	} {
		in := certain()
		in.Confidence = c.confidence
		got := outcomes(p.Evaluate(in))
		if got[3] != c.gate || got[0] != c.consent || p.Approvals(in) != c.approvals {
			t.Errorf("%v: %v, %d approvals", c.confidence, got, p.Approvals(in))
		}
	}
}

// Every variable has the value that the log gives it.
func TestVariables(t *testing.T) {
	t.Parallel()
	in := policy.NewInput(
		events.FactProposed{Confidence: 0.8, Trust: events.TrustUser, Traces: []string{"t1", "t2"}, Guard: events.Guard{Rules: "old", Score: 99}},
		events.FactContent{Subject: "maria", Predicate: "city", Category: "health", Scope: "home"},
		events.Basis{
			Evidence: []events.EvidenceBasis{
				{Found: true, Trust: events.TrustUser, Principal: "p1", Guard: events.Guard{Rules: "r", Score: 12, Secrets: 3, Hits: []string{"h"}, Personal: []string{"iban"}}},
				{Found: true, Trust: events.TrustHuman, Principal: "p1", Sensitivity: "special"},
				{Found: true, Trust: events.TrustUser, Principal: "p1", Sensitivity: "personal"},
				{Found: true, Trust: events.TrustSystem, Principal: "p2", Retired: true},
				{Found: true, Forgotten: true, Trust: events.TrustTool, Principal: "p3", Sensitivity: "secret"},
				{Found: true, Other: true, Trust: events.TrustTool, Principal: "p4"},
				{Trust: events.TrustTool, Principal: "p5"},
			},
			Context: events.TrustAgent, Consent: "granted", Conflict: "newer",
			Guard:   events.Guard{Rules: "r", Score: 31, Hits: []string{"g1", "g2"}, Secrets: 2, Personal: []string{"phone"}},
			Reviews: []events.ReviewBasis{{Reviewer: "r1", Verdict: events.VerdictApprove}},
			At:      time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		})
	for _, when := range []string{
		`cand.predicate == "city"`, `cand.category == "health"`, `cand.scope == "home"`, `cand.confidence == 0.8`,
		`cand.trust == AGENT`, `cand.context == AGENT`, `cand.sensitivity == "special"`, `evidence[0].sensitivity == "normal"`, `cand.traces == 2`, `cand.sources == 4`, `cand.principals == 2`,
		`cand.special`, `cand.needs_consent`, `cand.guard.score == 31`, `cand.guard.secrets == 2`,
		`cand.guard.hits == ["g1", "g2"]`, `"phone" in cand.guard.personal`,
		`size(evidence) == 7`, `evidence[0].trust == USER`, `evidence[3].retired`, `evidence[4].forgotten`, `evidence[5].other`,
		`!evidence[6].found`, `evidence[0].guard.score == 12`, `evidence[0].guard.secrets == 3`,
		`"h" in evidence[0].guard.hits`, `"iban" in evidence[0].guard.personal`,
		`evidence.exists_one(e, e.retired)`, `evidence.all(e, e.trust > EXTERNAL)`, `size(evidence.filter(e, e.found)) == 6`,
		`consent == "granted"`, `conflict == "newer"`, `reviews[0].reviewer == "r1" && reviews[0].verdict == "approved"`,
		`at == timestamp("2026-03-01T12:00:00Z")`, `at - duration("24h") < at`,
		`EXTERNAL < TOOL && TOOL < AGENT && AGENT < USER && USER < HUMAN_VERIFIED && HUMAN_VERIFIED < SYSTEM`,
		`cand.confidence < 1`, `cand.predicate.matches("^c.t")`, `cand.predicate.startsWith("ci")`,
	} {
		p := parse(t, rule(when)+"categories: {health: {special: true}}\n")
		if got := p.Evaluate(in)[1]; got.Outcome != events.DecisionReview || got.Reason != "r" {
			t.Errorf("%s does not hold: %v", when, got)
		}
		p = parse(t, rule("!("+when+")")+"categories: {health: {special: true}}\n")
		if got := p.Evaluate(in)[1]; got.Outcome != events.DecisionPromote || got.Reason != policy.ReasonOK {
			t.Errorf("its opposite holds: %v", got)
		}
	}
	if in = policy.NewInput(events.FactProposed{Guard: events.Guard{Rules: "old", Score: 99}}, events.FactContent{}, events.Basis{}); in.Guard.Score != 99 {
		t.Errorf("without a later scan the guard is %+v", in.Guard)
	}
}

// What cannot be evaluated rejects.
func TestErrorsReject(t *testing.T) {
	t.Parallel()
	failing := parse(t, rules(`
  - {id: a, gate: guardrail, outcome: review, when: "true"}
  - {id: b, gate: guardrail, outcome: review, when: 'evidence[3].found'}
  - {id: c, gate: consent, outcome: review, when: '1 / cand.traces == 1'}
`))
	got := outcomes(failing.Evaluate(certain()))
	want := []string{"consent rejected policy_error", "guardrail rejected policy_error", "provenance promoted ok", "confidence promoted ok"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("failing rules (-want +got):\n%s", diff)
	}
	in := certain()
	in.Traces, in.Evidence = 1, make([]events.EvidenceBasis, 4)
	if got := outcomes(failing.Evaluate(in)); got[0] != "consent review c" || got[1] != "guardrail review a" {
		t.Errorf("control: %v", got)
	}
	all := []string{"consent rejected policy_error", "guardrail rejected policy_error", "provenance rejected policy_error", "confidence rejected policy_error"}
	for name, edit := range map[string]func(*policy.Input){
		"no number":   func(in *policy.Input) { in.Confidence = math.NaN() },
		"no finite":   func(in *policy.Input) { in.Confidence = math.Inf(1) },
		"no trust":    func(in *policy.Input) { in.Trust = 0 },
		"other trust": func(in *policy.Input) { in.Trust = 99 },
		"too many":    func(in *policy.Input) { in.Evidence = make([]events.EvidenceBasis, 65) },
		"too long":    func(in *policy.Input) { in.Scope = strings.Repeat("x", 1_025) },
	} {
		in := certain()
		edit(&in)
		if diff := cmp.Diff(all, outcomes(policy.Default().Evaluate(in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	ref := events.PolicyRef{Name: "promotion", Version: 3, Hash: "h"}
	broken := policy.Broken(ref, "text", policy.ErrPolicy)
	if diff := cmp.Diff(all, outcomes(broken.Evaluate(certain()))); diff != "" || broken.Ref() != ref || broken.Err() == nil {
		t.Errorf("broken, %+v (-want +got):\n%s", broken.Ref(), diff)
	}
	if r := broken.Category("any").Retention; r.Rejected.String() != "keep" {
		t.Errorf("a policy that cannot be read ends something: %v", r)
	}
}

// Line ends and what is behind the last do not make another policy.
func TestCanonical(t *testing.T) {
	t.Parallel()
	text := rule("true")
	want := parse(t, text).Ref()
	for _, other := range []string{strings.ReplaceAll(text, "\n", "\r\n"), "\ufeff" + text, text + "\n\n", strings.TrimSuffix(text, "\n")} {
		if p := parse(t, other); p.Ref() != want || p.Text() != text {
			t.Errorf("%q is another policy", other)
		}
	}
	if p := parse(t, text+"# a comment\n"); p.Ref() == want {
		t.Error("control: another text is the same policy")
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	head := "name: promotion\nversion: 1\n"
	one := head + "rules: [{id: r, gate: consent, outcome: review, when: 'true'}]\n"
	parse(t, one) // the control
	var many strings.Builder
	for i := range 30 { // any of which is cheap enough
		fmt.Fprintf(&many, "  - {id: r%d, gate: consent, outcome: review, when: 'evidence.exists(e, \"x\" in e.guard.hits)'}\n", i)
	}
	deep := strings.Repeat("evidence.exists(e, ", 4) + "true" + strings.Repeat(")", 4)
	for name, c := range map[string]struct {
		file  string
		line  int
		field string
		rule  string
		says  string
	}{
		"nothing":           {"", 0, "", "", "is empty"},
		"a list":            {"- 1\n", 1, "", "", "mapping"},
		"no name":           {"version: 1\nrules: []\n", 1, "name", "", "missing"},
		"no version":        {"name: promotion\nrules: []\n", 1, "version", "", "missing"},
		"no rules":          {head, 1, "rules", "", "missing"},
		"version zero":      {"name: promotion\nversion: 0\n", 2, "version", "", "whole number"},
		"version text":      {"name: promotion\nversion: one\n", 2, "version", "", "whole number"},
		"unknown field":     {one + "rule: []\n", 4, "rule", "", "not a field"},
		"field twice":       {one + "version: 2\n", 4, "version", "", "twice"},
		"two documents":     {one + "---\n" + one, 0, "", "", "one document"},
		"an alias":          {head + "rules: &a []\n", 3, "rules", "", "alias"},
		"an alias inside":   {head + "rules:\n  - &a {id: r, gate: consent, outcome: review, when: 'true'}\n", 4, "rules[0]", "", "alias"},
		"a merge":           {one + "<<: {a: 1}\n", 4, "", "", "plain keys"},
		"no YAML":           {head + "\trules: []\n", 0, "", "", "tab"},
		"not UTF-8":         {one + "# \xff\n", 0, "", "", "UTF-8"},
		"too long":          {one + strings.Repeat("#\n", policy.MaxText), 0, "", "", "at most"},
		"rules a map":       {head + "rules: {}\n", 3, "rules", "", "must be a list"},
		"rule no id":        {head + "rules:\n  - {gate: consent, outcome: review, when: 'true'}\n", 4, "rules[0].id", "", "missing"},
		"rule bad id":       {head + "rules:\n  - {id: 'a b', gate: consent, outcome: review, when: 'true'}\n", 4, "rules[0].id", "", "characters"},
		"rule reserved id":  {head + "rules:\n  - {id: ok, gate: consent, outcome: review, when: 'true'}\n", 4, "rules[0].id", "ok", "stands for"},
		"rule twice":        {one + "", 0, "", "", ""}, // replaced below
		"rule no gate":      {head + "rules:\n  - {id: r, outcome: review, when: 'true'}\n", 4, "rules[0].gate", "r", "missing"},
		"gate of the floor": {head + "rules:\n  - {id: r, gate: liveness, outcome: review, when: 'true'}\n", 4, "rules[0].gate", "r", "one of consent"},
		"outcome promote":   {head + "rules:\n  - {id: r, gate: consent, outcome: promote, when: 'true'}\n", 4, "rules[0].outcome", "r", "one of review"},
		"approvals zero":    {head + "rules:\n  - {id: r, gate: consent, outcome: review, when: 'true', approvals: 0}\n", 4, "rules[0].approvals", "r", "whole number"},
		"approvals reject":  {head + "rules:\n  - {id: r, gate: consent, outcome: reject, when: 'true', approvals: 2}\n", 4, "rules[0].approvals", "r", "cannot lift"},
		"rule field":        {head + "rules:\n  - {id: r, gate: consent, outcome: review, when: 'true', then: x}\n", 4, "rules[0].then", "r", "not a field"},
		"condition empty":   {head + "rules:\n  - {id: r, gate: consent, outcome: review, when: ''}\n", 4, "rules[0].when", "r", "text"},
		"no CEL":            {rule("cand."), 4, "rules[0].when", "r", "Syntax error"},
		"no bool":           {rule("1 + 1"), 4, "rules[0].when", "r", "is int"},
		"any type":          {rule("[true, 1][0]"), 4, "rules[0].when", "r", "true or false"},
		"unknown variable":  {rule("cand.confidenc < 1.0"), 4, "rules[0].when", "r", "cand.confidence"},
		"unknown field of":  {rule("evidence.exists(e, e.subject == 'x')"), 4, "rules[0].when", "r", "subject"},
		"unknown trust":     {rule("cand.trust == ADMIN"), 4, "rules[0].when", "r", "ADMIN"},
		"types":             {rule("cand.predicate > 3"), 4, "rules[0].when", "r", "overload"},
		"the clock":         {rule("at < now"), 4, "rules[0].when", "r", "now"},
		"time zones":        {rule("at.getHours('Europe/Paris') > 8"), 4, "rules[0].when", "r", "getHours"},
		"dyn":               {rule("dyn(cand.predicate) > 3"), 4, "rules[0].when", "r", "dyn"},
		"map":               {rule("evidence.map(e, e.trust) == [1]"), 4, "rules[0].when", "r", "undeclared"},
		"has":               {rule("has(cand.guard)"), 4, "rules[0].when", "r", "undeclared"},
		"cost":              {rule(deep), 4, "rules[0].when", "r", "steps"},
		"cost of all":       {rules(many.String()), 25, "rules[21].when", "r21", "rules before it"},
		"length":            {rule("cand.scope == '" + strings.Repeat("x", 3000) + "'"), 4, "rules[0].when", "r", "size"},
		"depth":             {rule(strings.Repeat("(", 300) + "true" + strings.Repeat(")", 300)), 4, "rules[0].when", "r", "recursion"},
		"a pattern":         {rule(`cand.scope.matches("(")`), 4, "rules[0].when", "r", "regexp"},
		"second line":       {head + "rules:\n  - id: r\n    gate: consent\n    outcome: review\n    when: >\n      true &&\n      1\n", 7, "rules[0].when", "r", "found 'int'"},
		"category":          {one + "categories: {health: {sensitive: true}}\n", 4, "categories.health.sensitive", "", "not a field"},
		"category consent":  {one + "categories: {health: {consent: maybe}}\n", 4, "categories.health.consent", "", "one of"},
		"category twice":    {one + "categories:\n  \u00e9: {special: true}\n  e\u0301: {special: false}\n", 6, "categories.e\u0301", "", "twice"},
		"category mixed":    {one + "categories: {h\u0435alth: {special: true}}\n", 4, "categories.h\u0435alth", "", "several scripts"},
		"category no name":  {one + "categories: {'': {}}\n", 4, "categories.", "", "name"},
		"horizon months":    {one + "categories: {a: {horizon: 1m}}\n", 4, "categories.a.horizon", "", "h or d"},
		"horizon zero":      {one + "categories: {a: {horizon: 0h}}\n", 4, "categories.a.horizon", "", "above zero"},
		"horizon for ever":  {one + "categories: {a: {horizon: 99999d}}\n", 4, "categories.a.horizon", "", "100 years"},
		"weights sum":       {one + "categories: {a: {weights: {relevance: 1, freshness: 1, reliability: 0}}}\n", 4, "categories.a.weights", "", "sum"},
		"weights part":      {one + "categories: {a: {weights: {relevance: 1}}}\n", 4, "categories.a.weights.freshness", "", "missing"},
		"weights no number": {one + "categories: {a: {weights: {relevance: .nan, freshness: 0, reliability: 0}}}\n", 4, "categories.a.weights.relevance", "", "number"},
		"special yes":       {one + "categories: {a: {special: yes}}\n", 4, "categories.a.special", "", "true or false"},
		"retention":         {one + "retention: {facts: 1d}\n", 4, "retention.facts", "", "not a field"},
		"retention soon":    {one + "retention: {rejected: soon}\n", 4, "retention.rejected", "", "keep"},
		"example no name":   {one + "examples: [{want: review}]\n", 4, "examples[0].name", "", "missing"},
		"example field":     {one + "examples: [{name: x, want: review, inputs: {}}]\n", 4, "examples[0].inputs", "", "not a field"},
		"example input":     {one + "examples: [{name: x, want: review, input: {confidenze: 1}}]\n", 4, "examples[0].input.confidenze", "", "not a field"},
		"example number":    {one + "examples: [{name: x, want: review, input: {confidence: 1.5}}]\n", 4, "examples[0].input.confidence", "", "0 to 1"},
		"example trust":     {one + "examples: [{name: x, want: review, input: {trust: god}}]\n", 4, "examples[0].input.trust", "", "external"},
		"example time":      {one + "examples: [{name: x, want: review, input: {at: now}}]\n", 4, "examples[0].input.at", "", "RFC 3339"},
		"example fails":     {one + "examples: [{name: x, want: promote}]\n", 4, "examples[0].want", "", "comes out as review by r"},
		"example's rule":    {one + "examples: [{name: x, want: review, rule: s}]\n", 4, "examples[0].rule", "", "by r"},
		"example twice":     {one + "examples: [{name: x, want: review}, {name: x, want: review}]\n", 4, "examples[1].name", "", "twice"},
	} {
		if name == "rule twice" {
			c.file = head + "rules:\n  - {id: r, gate: consent, outcome: review, when: 'true'}\n  - {id: r, gate: consent, outcome: review, when: 'true'}\n"
			c.line, c.field, c.rule, c.says = 5, "rules[1].id", "r", "twice"
		}
		_, err := policy.Parse([]byte(c.file))
		bad, ok := errors.AsType[*policy.Error](err)
		if !ok || !errors.Is(err, policy.ErrPolicy) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bad.Line != c.line || bad.Field != c.field || bad.Rule != c.rule || !strings.Contains(bad.Fault, c.says) {
			t.Errorf("%s: line %d, field %q, rule %q, %q; want line %d, field %q, rule %q, %q",
				name, bad.Line, bad.Field, bad.Rule, bad.Fault, c.line, c.field, c.rule, c.says)
		}
		if strings.HasPrefix(name, "example ") && c.field != "examples[0].name" && bad.Example != "x" {
			t.Errorf("%s: example %q", name, bad.Example)
		}
	}
}

// One policy serves any number of goroutines (a race detector's test) and says
// the same to all.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	in := certain()
	in.Confidence, in.Category, in.Evidence[0].Retired = 0.5, "health", true
	want := outcomes(p.Evaluate(in))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if diff := cmp.Diff(want, outcomes(p.Evaluate(in))); diff != "" {
					t.Errorf("(-alone +together):\n%s", diff)
					return
				}
			}
		})
	}
	wg.Wait()
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(policy.Default().Text()))
	f.Add([]byte(rule("evidence.exists(e, e.retired) && cand.confidence < 0.9")))
	f.Add([]byte(rules("  - &a [*a]\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := policy.Parse(b)
		if (err == nil) != (p != nil) || err != nil && !errors.Is(err, policy.ErrPolicy) {
			t.Fatalf("a policy: %v, an error: %v", p != nil, err)
		}
		if p == nil {
			return
		}
		again, err := policy.Parse([]byte(p.Text()))
		if err != nil || again.Ref() != p.Ref() {
			t.Errorf("its own text is another policy: %v", err)
		}
		if diff := cmp.Diff(p.Evaluate(certain()), again.Evaluate(certain())); diff != "" {
			t.Errorf("and decides otherwise:\n%s", diff)
		}
	})
}

func BenchmarkEvaluate(b *testing.B) {
	p := policy.Default()
	in := certain()
	in.Category, in.Consent = "health", events.ConsentGiven
	in.Evidence = append(in.Evidence, in.Evidence[0], in.Evidence[0])
	b.ReportAllocs()
	for b.Loop() {
		p.Evaluate(in)
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(policy.Default().Text())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
