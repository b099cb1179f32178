package node_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/internal/qdranttest"
)

// recalledAs is what a recall says of a memory.
type recalledAs struct {
	place  int
	status string
	by     []string
}

// recalled are the results by id.
func (f *fixture) recalled(token string, body obj) map[string]recalledAs {
	f.t.Helper()
	body["wait_for"] = f.head()
	out := map[string]recalledAs{}
	for i, r := range get[[]any](f.do(token, http.MethodPost, "/v1/recall", body, http.StatusOK), "results") {
		res, _ := r.(obj)
		id, _ := res["id"].(string)
		as := recalledAs{place: i + 1}
		as.status, _ = res["status"].(string)
		list, _ := res["superseded_by"].([]any)
		for _, by := range list {
			member, _ := by.(obj)
			fact, _ := member["fact"].(string)
			as.by = append(as.by, fact)
		}
		out[id] = as
	}
	return out
}

// In either index, an episode whose fact was superseded comes below the
// current one however much better it matches, and says what is true instead, as long as
// that is not forgotten; it was current at its time, and comes in full on request.
func TestCurrentBeforeStale(t *testing.T) {
	t.Parallel()
	for name, qdrant := range map[string]bool{"pebble": false, "qdrant": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := node.Options{Durability: "process"}
			if qdrant {
				o.Qdrant.Address = qdranttest.Address(t)
			}
			f := openWith(t, o)
			token, foreign := f.token("acme"), f.token("globex")
			propose := func(token, value, observed, source string) string {
				p := with(proposal("maria", "home_address", value, source), "observed_at", observed)
				return get[string](f.do(token, http.MethodPost, "/v1/facts", p, http.StatusCreated), "fact_id")
			}
			const question = "What is the address of Maria's home?"
			old := f.capture(token, "maria", "The address of Maria's home is 5 Oak Street.", "occurred_at", "2026-01-01T00:00:00Z")
			fresh := f.capture(token, "maria", "She has moved to Mill Lane, away from home.", "occurred_at", "2026-02-01T00:00:00Z")
			propose(token, "5 Oak Street", "2026-01-01T00:00:00Z", old)
			propose(foreign, "9 Elm Road", "2026-03-01T00:00:00Z", f.capture(foreign, "maria", "Maria's home is in Elm Road."))
			f.settle()
			if got := f.recalled(token, obj{"query": question}); got[old].status != "" || got[old].place > got[fresh].place {
				t.Fatalf("control: %+v", got)
			}
			now := propose(token, "4 Mill Lane", "2026-02-01T00:00:00Z", fresh)
			f.settle()
			for what, c := range map[string]struct {
				more   obj
				status string
				last   bool
			}{
				"now":              {obj{}, "superseded", true},
				"a strong read":    {obj{"consistency": "strong"}, "superseded", true},
				"on request":       {obj{"include": "history"}, "superseded", false},
				"at its time":      {obj{"as_of": "2026-01-15T00:00:00Z"}, "", false},
				"after its time":   {obj{"as_of": "2026-02-15T00:00:00Z"}, "superseded", true},
				"episodes, now":    {obj{"kinds": []string{"episode"}}, "superseded", true},
				"about her, now":   {obj{"subject": "maria"}, "superseded", true},
				"explained, as of": {obj{"as_of": "2026-02-15T00:00:00Z", "explain": true}, "superseded", true},
			} {
				c.more["query"] = question
				got := f.recalled(token, c.more)
				if as := got[old]; as.place == 0 || as.status != c.status || c.last != (as.place == len(got) && got[fresh].place != 0) {
					t.Errorf("%s: %+v of %+v", what, as, got)
				}
				if as := got[old]; c.status != "" && !slices.Equal(as.by, []string{now}) {
					t.Errorf("%s: superseded by %v, want %s", what, as.by, now)
				}
			}
			f.do(token, http.MethodDelete, "/v1/facts/"+now, nil, http.StatusAccepted)
			body := obj{"query": question, "wait_for": f.head()}
			if got := f.recalled(token, obj{"query": question}); got[old].status != "superseded" || len(got[old].by) != 0 || got[old].place != len(got) {
				t.Errorf("the replacement is forgotten: %+v", got)
			}
			if a := f.do(token, http.MethodPost, "/v1/recall", body, http.StatusOK); strings.Contains(string(a.body), "4 Mill Lane") {
				t.Errorf("the replacement is forgotten: %s", a.body)
			}
			if a := f.do(token, http.MethodPost, "/v1/recall", with(body, "include", "all"), http.StatusBadRequest); get[string](a, "field") != "include" {
				t.Errorf("another include: %s", a.body)
			}
		})
	}
}
