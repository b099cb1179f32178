package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

// A rule that compares the category with what no category is spelt like would be
// silently dead, and is refused with its place.
func TestMisspeltCategory(t *testing.T) {
	t.Parallel()
	for condition, says := range map[string]string{
		`cand.category == "Health"`:                        `"health" would be one (at character 18)`,
		`"HEALTH" != cand.category`:                        `"health" would be one (at character 1)`,
		`cand.category in ["health", "Union Membership"]`:  `"union membership" would be one (at character 29)`,
		`"Health" in [cand.category, "profile"]`:           `at character 1)`,
		`["Health"].exists(c, c == cand.category)`:         `at character 2)`,
		`["a", "B"].all(c, !cand.category.contains(c))`:    `at character 7)`,
		`cand.category.startsWith("Hea")`:                  `"hea"`,
		`cand.category.endsWith("LTH")`:                    `"lth"`,
		`cand.category.contains("eAl")`:                    `"eal"`,
		`cand.category.matches("^(care|Health)$")`:         `at character 23)`,
		`cand.category == "union  membership"`:             `"union membership"`,
		`cand.category == " health"`:                       `"health"`,
		`cand.category == "hea\u200blth"`:                  `"health"`,
		`cand.category == "\uff48ealth"`:                   `"health"`,
		`cand.scope == "Home" && cand.category == "Task"`:  `"task" would be one (at character 42)`,
		`cand.category == "Task" || cand.category == "No"`: `at character 18)`,
		`cand.category >= "Task"`:                          `"task"`,
		`cand.category == "h\u0435alth"`:                   `several scripts, as no category does (at character 18)`,
	} {
		_, err := policy.Parse([]byte(rule(condition)))
		bad, ok := errors.AsType[*policy.Error](err)
		if !ok || bad.Rule != "r" || bad.Field != "rules[0].when" || bad.Line != 4 || !strings.Contains(bad.Fault, says) {
			t.Errorf("%s: %v", condition, err)
		}
	}
	for _, condition := range []string{ // the control
		`cand.category == "health"`, `cand.category in ["health", "union membership", "\u0437\u0434\u043e\u0440\u043e\u0432\u044c\u0435"]`,
		`cand.scope == "Home"`, `"Home" in [cand.scope]`, `["Home"].exists(s, s == cand.scope && cand.category == "task")`,
		`cand.category.startsWith("union ")`, `cand.category.matches("(?i)^Health\\S*$")`, `cand.category.matches("^[A-Za-z]+$")`,
		`cand.category == ""`, `cand.category == cand.scope`, `["A"].exists(c, c == cand.predicate)`,
	} {
		parse(t, rule(condition))
	}
}

// An example names a category as callers do.
func TestExampleCategory(t *testing.T) {
	t.Parallel()
	p := parse(t, rule(`cand.category == "health"`)+"examples: [{name: x, want: review, input: {category: Health}}]\n")
	in := certain()
	in.Category = "health"
	if got := p.Evaluate(in)[1]; p.Examples() != 1 || got.Outcome != events.DecisionReview {
		t.Errorf("%+v", got)
	}
}
