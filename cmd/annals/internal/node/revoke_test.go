package node_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
)

// A source or a principal that turns out to be bad is revoked: what was taken from it
// goes, and what rests on that alone; what rests on more loses a source. A dry run
// says how much, and changes nothing.
func TestRevoke(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"source", "principal"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			good := f.token("acme")
			bad := f.tokenOf(events.Caller{Tenant: "acme", Principal: "bad", Trust: events.TrustUser})
			feed := obj{"kind": "feed", "ref": "evil"}
			propose := func(token, predicate, value, source string) string {
				t.Helper()
				a := f.do(token, http.MethodPost, "/v1/facts", proposal("maria", predicate, value, source), http.StatusCreated)
				return get[string](a, "fact_id")
			}
			poison := f.capture(bad, "maria", "Maria lives in Rome, and likes tea.", "source", feed)
			honest := f.capture(good, "maria", "Maria likes tea.")
			// Whoever proposed it, it rests on the poison alone.
			alone := propose(good, "city", "Rome", poison)
			both := propose(good, "drink", "tea", honest)
			if again := propose(good, "drink", "tea", poison); again != both {
				t.Fatalf("the same value became %s", again)
			}
			kept := propose(good, "pet", "cat", honest)
			body, matched := obj{"source": feed}, 1.0
			proposed := ""
			if what == "principal" {
				// It has also proposed something from what is not its own.
				proposed = propose(bad, "phone", "7", honest)
				body, matched = obj{"filter": obj{"principal": "bad"}}, 2
			}
			f.settle()
			dry := f.do(good, http.MethodPost, "/v1/forget", with(body, "dry_run", true), http.StatusAccepted)
			kinds := get[map[string]any](dry, "kinds")
			if get[float64](dry, "matched") != matched || kinds["episodes"] != 1.0 || kinds["facts"] != matched-1 {
				t.Errorf("dry run: %s", dry.body)
			}
			// Of drink there is the fact, and the candidate that was merged into it.
			if get[float64](dry, "cascaded") != 2 || get[float64](dry, "weakened") != 1 {
				t.Errorf("dry run: %s", dry.body)
			}
			for _, id := range []string{alone, both, kept} {
				f.do(good, http.MethodGet, "/v1/facts/"+id, nil, http.StatusOK)
			}
			f.do(good, http.MethodPost, "/v1/forget", body, http.StatusAccepted)
			f.settle()
			f.do(good, http.MethodGet, "/v1/episodes/"+poison, nil, http.StatusGone)
			f.do(good, http.MethodGet, "/v1/facts/"+alone, nil, http.StatusGone)
			if proposed != "" {
				f.do(good, http.MethodGet, "/v1/facts/"+proposed, nil, http.StatusGone)
			}
			for _, id := range []string{both, kept} {
				a := f.do(good, http.MethodGet, "/v1/facts/"+id, nil, http.StatusOK)
				if bytes.Contains(a.body, []byte(poison)) || !bytes.Contains(a.body, []byte(honest)) {
					t.Errorf("a fact that rests on more: %s", a.body)
				}
			}
		})
	}
}
