package eval_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
)

// asker is whoever captures, recalls and judges.
type asker struct {
	t *testing.T
	*client.Client

	settle func()
}

func newAsker(t *testing.T) *asker {
	t.Helper()
	n := gateNode(t, func(c events.Caller) events.Caller { return c })
	c, err := n.Client(events.Caller{
		Tenant: "acme", Principal: "p", Trust: events.TrustUser, Roles: []events.Role{events.RoleAgent, events.RoleAuditor},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &asker{t, c, func() {
		if err := n.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}}
}

func (a *asker) do(method, path string, body, out any) {
	a.t.Helper()
	if err := a.Do(a.t.Context(), client.Call{Method: method, Path: path, Body: body, Out: out}); err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
}

// town captures what a tool and what a user said of a town. The tool has all words of
// the question that will be asked, the user some.
func (a *asker) town(i int) (tool, user string) {
	a.t.Helper()
	ids := [2]string{}
	for j, text := range []string{"The harbour of the town opens at nine.", "They said the harbour has other hours in winter."} {
		var out struct {
			ID string `json:"id"`
		}
		body := map[string]any{"subject": fmt.Sprint("town ", i), "text": text, "source": map[string]any{"kind": "k", "ref": fmt.Sprint(i, j)}}
		if j == 0 {
			body["channel_trust"] = "tool"
		}
		a.do(http.MethodPost, "/v1/episodes", body, &out)
		ids[j] = out.ID
	}
	return ids[0], ids[1]
}

// recall asks about a town and returns the trace; the tool's words come first.
func (a *asker) recall(i int, tool string) string {
	a.t.Helper()
	var out struct {
		Trace   string `json:"trace_id"`
		Results []struct {
			ID         string `json:"id"`
			Components any    `json:"components"`
		} `json:"results"`
	}
	a.do(http.MethodPost, "/v1/recall", map[string]any{"query": "the harbour of the town opens", "subject": fmt.Sprint("town ", i)}, &out)
	if len(out.Results) != 2 || out.Results[0].ID != tool || out.Results[0].Components != nil {
		a.t.Fatalf("control: recalled %+v", out.Results)
	}
	return out.Trace
}

func (a *asker) judge(trace, memory, judgement string) {
	a.t.Helper()
	a.do(http.MethodPost, "/v1/traces/"+trace+"/feedback", map[string]any{"memory_id": memory, "judgement": judgement}, nil)
}

// rows compares and returns the rows by name.
func (a *asker) rows(o eval.TracesOptions) (eval.TracesReport, map[string]eval.WeightsRow) {
	a.t.Helper()
	a.settle()
	o.K = 10
	r, err := eval.Traces(a.t.Context(), a.Client, o, func(string, int, int) {})
	if err != nil {
		a.t.Fatal(err)
	}
	rows := map[string]eval.WeightsRow{}
	for _, row := range r.Weights {
		rows[row.Name] = row
	}
	return r, rows
}

// Whom everybody finds useful is who can be relied on: weights that go by it are
// better than those that go by words, worse the other way round, and the same weights
// under another name are no different. What was forgotten is left out.
func TestTraces(t *testing.T) {
	t.Parallel()
	a := newAsker(t)
	o := eval.TracesOptions{Against: "default", Weights: []eval.NamedWeights{
		{Name: "trust", Weights: query.Weights{Reliability: 1}},
		{Name: "same", Weights: query.DefaultWeights()},
	}}
	const towns = 13
	var tools, users, traces [towns]string
	for i := range towns {
		tools[i], users[i] = a.town(i)
	}
	a.settle()
	for i := range towns {
		traces[i] = a.recall(i, tools[i])
	}
	say := func(i int) {
		a.judge(traces[i], tools[i], "irrelevant")
		a.judge(traces[i], users[i], "useful")
	}
	for i := range 9 {
		say(i)
	}
	if r, rows := a.rows(o); r.N != 9 || rows["trust"].Verdict != eval.VerdictFew {
		t.Errorf("%d traces are enough: %+v", r.N, rows["trust"])
	}
	for i := 9; i < 11; i++ {
		say(i)
	}
	// Only the use is known of the next, and of the last that both are useful.
	a.do(http.MethodPost, "/v1/traces/"+traces[11]+"/use", map[string]any{"memory_ids": []string{users[11]}}, nil)
	a.judge(traces[12], tools[12], "useful")
	a.judge(traces[12], users[12], "useful")
	r, rows := a.rows(o)
	if r.Traces != 13 || r.N != 11 || r.Results != 22 || r.LeftOut != (eval.TracesLeftOut{Unjudged: 1, Alike: 1}) || r.Forgotten != 0 {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]struct {
		ndcg, mrr float64
		verdict   string
	}{
		"trust": {1, 1, eval.VerdictBetter}, "same": {0.63, 0.5, eval.VerdictSame},
		"default": {0.63, 0.5, eval.VerdictSame}, "recorded": {0.63, 0.5, eval.VerdictSame},
	} {
		row := rows[name]
		if row.Verdict != want.verdict || row.NDCG < want.ndcg || row.NDCG > want.ndcg+0.01 || row.MRR != want.mrr {
			t.Errorf("%s: %+v, want %+v", name, row, want)
		}
	}
	if g := rows["trust"].NDCGGain; g.Low > g.Mean || g.High < g.Mean || g.Low < 0.36 || g.High > 0.38 {
		t.Errorf("what trust wins: %+v", g)
	}
	if _, rows := a.rows(eval.TracesOptions{Against: "trust", Weights: o.Weights}); rows["default"].Verdict != eval.VerdictWorse {
		t.Errorf("against trust: %+v", rows["default"])
	}
	if r, _ := a.rows(eval.TracesOptions{Against: "default", Use: true}); r.N != 12 || r.LeftOut.Unjudged != 0 {
		t.Errorf("with what was used: %+v", r)
	}
	a.do(http.MethodDelete, "/v1/episodes/"+users[0], nil, nil)
	if r, rows := a.rows(o); r.Traces != 13 || r.N != 10 || r.Forgotten != 1 || r.LeftOut.Alike != 2 || rows["trust"].Verdict != eval.VerdictBetter {
		t.Errorf("after a forget: %+v", r)
	}
	if _, err := eval.Traces(t.Context(), a.Client, eval.TracesOptions{K: 10, Against: "nobody's"}, func(string, int, int) {}); !errors.Is(err, eval.ErrNoWeights) {
		t.Errorf("against weights that are not there: %v", err)
	}
}
