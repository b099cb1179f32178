package node_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/policy"
)

const (
	policyPath   = "/v1/policies/promotion"
	simulatePath = "/v1/policies/simulate"
)

// version is the built-in policy as another version, edited.
func version(t *testing.T, n int, edits ...string) string {
	t.Helper()
	text := strings.Replace(policy.Default().Text(), "\nversion: 1\n", fmt.Sprintf("\nversion: %d\n", n), 1)
	for i := 0; i+1 < len(edits); i += 2 {
		edited := strings.Replace(text, edits[i], edits[i+1], 1)
		if edited == text {
			t.Fatalf("%q is not in the policy", edits[i])
		}
		text = edited
	}
	return text
}

// stricter asks for a confidence of 0.999.
func stricter(t *testing.T, n int) string {
	t.Helper()
	return version(t, n, "cand.confidence < 0.95", "cand.confidence < 0.999")
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	f := open(t)
	admin, reviewer, agent := f.token("acme", events.RoleAdmin), f.token("acme", events.RoleReviewer), f.token("acme", events.RoleAgent)
	builtin := f.do(reviewer, http.MethodGet, policyPath, nil, http.StatusOK)
	if get[string](builtin, "text") != policy.Default().Text() || !get[bool](builtin, "builtin") || get[float64](builtin, "version") != 1 {
		t.Errorf("the built-in one: %s", builtin.body)
	}
	for _, token := range []string{reviewer, agent} {
		f.do(token, http.MethodPut, policyPath, obj{"text": version(t, 2)}, http.StatusForbidden)
	}
	f.do(agent, http.MethodGet, policyPath, nil, http.StatusForbidden)
	f.do(admin, http.MethodPut, "/v1/policies/forgetting", obj{"text": version(t, 2)}, http.StatusNotFound)
	f.do(admin, http.MethodGet, "/v1/policies/forgetting", nil, http.StatusNotFound)
	head := f.head()
	for name, c := range map[string]struct {
		text, field, detail string
	}{
		"a rule":    {version(t, 2, "cand.guard.score >= 80", "cand.guard.scor >= 80"), "rules[1].when", "rule instruction"},
		"a field":   {version(t, 2, "retention:", "retain:"), "retain", "line"},
		"a name":    {version(t, 2, "name: promotion", "name: forgetting"), "name", "promotion"},
		"a version": {version(t, 1, "# The policy", "# My policy"), "version", "another text"},
		"example":   {stricter(t, 2) + "  - {name: odd, want: reject}\n", "examples[10].want", `example "odd"`},
		"nothing":   {"", "text", "required"},
	} {
		want := http.StatusUnprocessableEntity
		if c.text == "" {
			want = http.StatusBadRequest
		}
		for _, query := range []string{"", "?check=true"} {
			a := f.do(admin, http.MethodPut, policyPath+query, obj{"text": c.text}, want)
			if get[string](a, "field") != c.field || !strings.Contains(get[string](a, "detail"), c.detail) {
				t.Errorf("%s: %s", name, a.body)
			}
		}
	}
	f.do(admin, http.MethodPut, policyPath+"?dry=true", obj{"text": stricter(t, 2)}, http.StatusBadRequest)
	checked := f.do(admin, http.MethodPut, policyPath+"?check=true", obj{"text": stricter(t, 2)}, http.StatusOK)
	if got := f.head(); got != head {
		t.Errorf("what was refused or checked has written %d commits", got-head)
	}

	source := f.capture(agent, "maria", "She lives in Lima.")
	f.do(admin, http.MethodPut, policyPath, obj{"text": stricter(t, 2), "expected_version": 3}, http.StatusConflict)
	before := f.do(agent, http.MethodPost, "/v1/facts", proposal("maria", "city", "Lima", source), http.StatusCreated)
	active := f.do(admin, http.MethodPut, policyPath, obj{"text": stricter(t, 2), "expected_version": 1}, http.StatusOK)
	if get[string](active, "hash") != get[string](checked, "hash") || get[float64](active, "position") == 0 || get[string](active, "activated_at") == "" {
		t.Errorf("activated: %s", active.body)
	}
	again := f.do(admin, http.MethodPut, policyPath, obj{"text": strings.ReplaceAll(stricter(t, 2), "\n", "\r\n")}, http.StatusOK)
	if !bytes.Equal(again.body, active.body) {
		t.Errorf("again is another answer:\n%s%s", again.body, active.body)
	}
	if a := f.do(reviewer, http.MethodGet, policyPath, nil, http.StatusOK); !bytes.Equal(a.body, active.body) {
		t.Errorf("it shows another one: %s", a.body)
	}
	conflict := f.do(admin, http.MethodPut, policyPath, obj{"text": version(t, 3), "expected_version": 1}, http.StatusConflict)
	if get[float64](conflict, "current_version") != 2 {
		t.Errorf("conflict: %s", conflict.body)
	}
	after := f.do(agent, http.MethodPost, "/v1/facts", proposal("maria", "pet", "a cat", source), http.StatusCreated)
	theirs := f.token("other")
	other := f.do(theirs, http.MethodPost, "/v1/facts", proposal("maria", "pet", "a cat", f.capture(theirs, "maria", "A cat.")), http.StatusCreated)
	for name, c := range map[string]struct {
		answer   answer
		decision string
	}{
		"before": {before, "promoted"}, "after": {after, "review"}, "another tenant": {other, "promoted"},
	} {
		if got := get[string](c.answer, "decision"); got != c.decision {
			t.Errorf("%s: %s, want %s: %s", name, got, c.decision, c.answer.body)
		}
	}
	// The first one comes back as it was, and its version is its own.
	f.do(admin, http.MethodPut, policyPath, obj{"text": policy.Default().Text()}, http.StatusOK)
	f.do(admin, http.MethodPut, policyPath, obj{"text": version(t, 2)}, http.StatusUnprocessableEntity)
	f.do(agent, http.MethodPost, "/v1/facts", proposal("maria", "badge", "red", source), http.StatusCreated)
	history := get[[]any](f.do(reviewer, http.MethodGet, policyPath+"/history", nil, http.StatusOK), "policies")
	if len(history) != 3 {
		t.Errorf("history: %v", history)
	}
	// Of the directory as it was left, the same.
	f.close()
	f.start()
	if a := f.do(reviewer, http.MethodGet, policyPath, nil, http.StatusOK); get[float64](a, "version") != 1 {
		t.Errorf("after a restart: %s", a.body)
	}
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	source := f.capture(token, "maria", "She lives in Lima.")
	ids := map[string]string{}
	propose := func(subject, predicate string, confidence float64) string {
		body := with(proposal(subject, predicate, "x", source), "confidence", confidence)
		ids[predicate] = get[string](f.do(token, http.MethodPost, "/v1/facts", body, http.StatusCreated), "candidate_id")
		return ids[predicate]
	}
	propose("maria", "sure", 1)
	propose("maria", "doubtful", 0.5)
	first := f.head()
	for i := range 25 {
		propose("maria", fmt.Sprintf("almost_%d", i), 0.99)
	}
	last := f.head()
	f.settle()
	head := f.head()
	simulate := func(body obj) answer {
		t.Helper()
		return f.do(token, http.MethodPost, simulatePath, body, http.StatusOK)
	}
	type row struct {
		was, wouldBe   string
		count, samples int
	}
	rows := func(a answer) []row {
		t.Helper()
		var list []row
		for _, o := range get[[]any](a, "outcomes") {
			o, _ := o.(obj)
			samples, _ := o["samples"].([]any)
			list = append(list, row{fmt.Sprint(o["was"]), fmt.Sprint(o["would_be"]), int(o["count"].(float64)), len(samples)}) //nolint:forcetypeassert // A panic is a failure too.
		}
		return list
	}
	expect := func(name string, a answer, want ...row) {
		t.Helper()
		if got := rows(a); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v: %s", name, got, want, a.body)
		}
	}
	// The policy in force changes nothing about its own decisions.
	control := simulate(obj{})
	expect("control", control, row{"promoted", "promoted", 26, 0}, row{"review", "review", 1, 0})
	if get[float64](control, "changed") != 0 || get[float64](control, "decisions") != 27 {
		t.Errorf("control: %s", control.body)
	}
	strict := simulate(obj{"text": stricter(t, 2)})
	expect("stricter", strict, row{"promoted", "promoted", 1, 0}, row{"promoted", "review", 25, 20}, row{"review", "review", 1, 0})
	if bytes.Contains(strict.body, []byte(ids["sure"])) || bytes.Contains(strict.body, []byte(ids["doubtful"])) ||
		!bytes.Contains(strict.body, []byte(ids["almost_0"])) || !bytes.Contains(strict.body, []byte("below_threshold")) {
		t.Errorf("it names others: %s", strict.body)
	}
	loose := simulate(obj{"text": version(t, 2, "cand.confidence < 0.95", "cand.confidence < 0.4", "confidence: 0.9}", "confidence: 0.3}")})
	expect("looser", loose, row{"promoted", "promoted", 26, 0}, row{"review", "promoted", 1, 1})

	part := obj{"text": stricter(t, 2), "from": fmt.Sprint(first + 1), "to": fmt.Sprint(last)}
	a, b := simulate(part), simulate(part)
	expect("a part", a, row{"promoted", "review", 25, 20})
	if !bytes.Equal(a.body, b.body) {
		t.Errorf("twice differs:\n%s%s", a.body, b.body)
	}
	// From a decision on, whose candidate is before it.
	expect("one decision", simulate(obj{"from": fmt.Sprint(last)}), row{"promoted", "promoted", 1, 0})
	expect("nothing", simulate(obj{"from": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}))
	expect("all by time", simulate(obj{"from": "2020-01-01T00:00:00Z", "to": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}), rows(control)...)
	cut := simulate(obj{"limit": 10})
	if !get[bool](cut, "truncated") || get[float64](cut, "decisions") != 10 {
		t.Errorf("cut: %s", cut.body)
	}
	rest := simulate(obj{"from": fmt.Sprint(int(get[float64](cut, "to")) + 1)})
	if get[float64](rest, "decisions") != 17 {
		t.Errorf("the rest: %s", rest.body)
	}
	for _, body := range []obj{{"from": "yesterday"}, {"to": "-1"}, {"limit": -1}, {"limit": 1_000_000}} {
		f.do(token, http.MethodPost, simulatePath, body, http.StatusBadRequest)
	}
	f.do(token, http.MethodPost, simulatePath, obj{"text": "rules: []"}, http.StatusUnprocessableEntity)
	f.do(f.token("acme", events.RoleAgent, events.RoleAuditor), http.MethodPost, simulatePath, obj{}, http.StatusForbidden)
	expect("another tenant", f.do(f.token("nobody"), http.MethodPost, simulatePath, obj{}, http.StatusOK))
	verified := f.do(f.token("acme", events.RoleAuditor), http.MethodPost, "/v1/policies/verify", obj{}, http.StatusOK)
	if get[float64](verified, "decisions") != 27 || get[float64](verified, "repeated") != 27 {
		t.Errorf("decisions made again: %s", verified.body)
	}
	f.do(f.token("acme", events.RoleAgent), http.MethodPost, "/v1/policies/verify", obj{}, http.StatusForbidden)
	if got := f.head(); got != head {
		t.Errorf("simulations have written %d commits", got-head)
	}
	// What was forgotten or is held is counted and not looked at.
	pedro := f.capture(token, "pedro", "He has a dog.")
	body := proposal("pedro", "dog", "x", pedro)
	f.do(token, http.MethodPost, "/v1/facts", body, http.StatusCreated)
	f.do(token, http.MethodPut, "/v1/subjects/pedro/holds/case", obj{}, http.StatusOK)
	f.do(token, http.MethodDelete, "/v1/facts/"+ids["sure"], nil, http.StatusAccepted)
	f.settle()
	gone := simulate(obj{"text": stricter(t, 2)})
	expect("forgotten and held", gone, row{"promoted", "review", 25, 20}, row{"review", "review", 1, 0})
	if !bytes.Contains(gone.body, []byte(`"skipped":{"forgotten":1,"held":1,"no_basis":0}`)) {
		t.Errorf("skipped: %s", gone.body)
	}
}

// What the policy in force says of categories, recalls and retention go by.
func TestPolicyOfCategories(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	old := time.Now().AddDate(0, 0, -20).UTC().Format(time.RFC3339)
	for _, category := range []string{"task", "general", "profile", "weighed"} {
		f.capture(token, "maria", "The word plugh is kept for "+category+".", "category", category, "occurred_at", old)
	}
	source := f.capture(token, "maria", "She has a badge.")
	for _, category := range []string{"general", "brief"} {
		body := with(with(proposal("maria", "badge_"+category, "red", source), "confidence", 0.5), "category", category)
		f.do(token, http.MethodPost, "/v1/facts", body, http.StatusCreated)
	}
	f.settle()
	recall := func(category string) (freshness float64, weights string) {
		t.Helper()
		a := f.do(token, http.MethodPost, "/v1/recall", obj{"query": "plugh", "categories": []string{category}, "explain": true}, http.StatusOK)
		result, _ := get[[]any](a, "results")[0].(obj)
		components, _ := result["components"].(obj)
		freshness, _ = components["freshness"].(float64)
		trace := f.do(token, http.MethodGet, "/v1/traces/"+get[string](a, "trace_id")+"?wait_for="+fmt.Sprint(f.head()), nil, http.StatusOK)
		return freshness, get[string](trace, "weights")
	}
	preview := func(days int) int {
		t.Helper()
		at := time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339)
		return int(get[float64](f.do(token, http.MethodGet, "/v1/retention/preview?at="+at, nil, http.StatusOK), "total"))
	}
	task, weights := recall("task")
	general, _ := recall("general")
	profile, _ := recall("profile")
	weighed, _ := recall("weighed")
	if task != 0 || general <= 0 || weighed <= 0 || profile <= general || weights != "default" {
		t.Errorf("built in: freshness of task %v, general %v, weighed %v, profile %v; weights %s", task, general, weighed, profile, weights)
	}
	if preview(0) != 0 || preview(89) != 0 || preview(91) != 2 {
		t.Errorf("built in, it ends %d, in 89 days %d, in 91 %d; want 0, 0, 2", preview(0), preview(89), preview(91))
	}
	text := version(t, 2, "  task: {horizon: 7d}\n",
		"  task: {horizon: 400d}\n  weighed: {weights: {relevance: 0.5, freshness: 0.5, reliability: 0}}\n  brief: {retention: {unreviewed: 1d}}\n")
	f.do(token, http.MethodPut, policyPath, obj{"text": text}, http.StatusOK)
	task, _ = recall("task")
	_, weights = recall("weighed")
	if task <= profile || weights != "category" {
		t.Errorf("activated: freshness of task %v, profile %v; weights %s", task, profile, weights)
	}
	if preview(0) != 0 || preview(2) != 1 || preview(91) != 2 {
		t.Errorf("activated, it ends %d, in 2 days %d, in 91 %d; want 0, 1, 2", preview(0), preview(2), preview(91))
	}
}
