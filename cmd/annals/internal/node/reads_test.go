package node_test

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/producers/policy"
)

// ask is one call of a route that can return text of a memory.
type ask struct {
	method, path string
	body         obj
}

// name tells asks apart.
func (a ask) name() string {
	if a.body == nil {
		return a.method + " " + a.path
	}
	b, err := json.Marshal(a.body, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return a.method + " " + a.path + " " + string(b)
}

// about is what is asked about. What is empty is not asked for.
type about struct {
	subject, session, predicate, query string
	// known is a time at which all of it was known, valid one at which it was true.
	known, valid            time.Time
	episodes, facts, traces []string
}

// asks are the ways to ask a route, as many as there are paths behind it. A
// route that it does not know is not ok.
func asks(r httpapi.Route, of about) (list []ask, ok bool) {
	get := func(path string, values ...string) {
		q := url.Values{}
		for i := 0; i+1 < len(values); i += 2 {
			q.Set(values[i], values[i+1])
		}
		if len(q) > 0 {
			path += "?" + q.Encode()
		}
		list = append(list, ask{method: r.Method, path: path})
	}
	each := func(ids []string) {
		for _, id := range ids {
			get(strings.Replace(r.Path, "{id}", id, 1))
		}
	}
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	switch r.Method + " " + r.Path {
	case "GET /v1/episodes":
		get(r.Path, "subject", of.subject, "limit", "1000")
		if of.session != "" {
			get(r.Path, "subject", of.subject, "session", of.session)
		}
	case "GET /v1/episodes/{id}":
		each(of.episodes)
	case "GET /v1/facts":
		s := []string{"subject", of.subject}
		get(r.Path, s...)
		get(r.Path, append(s, "include", "history", "limit", "1000")...)
		get(r.Path, append(s, "as_of", stamp(of.valid))...)
		if !of.known.IsZero() {
			get(r.Path, append(s, "known_at", stamp(of.known))...)
			get(r.Path, append(s, "as_of", stamp(of.valid), "known_at", stamp(of.known))...)
		}
		if of.predicate != "" {
			get(r.Path, append(s, "predicate", of.predicate)...)
		}
	case "GET /v1/reviews":
		get(r.Path)
		get(r.Path, "state", "all", "limit", "1000")
	case "GET /v1/reviews/{id}":
		each(slices.Concat(of.facts, of.episodes))
	case "GET /v1/facts/{id}", "GET /v1/facts/{id}/history", "GET /v1/facts/{id}/lineage":
		each(of.facts)
	case "POST /v1/recall":
		q := obj{"query": of.query, "k": 100}
		mine := with(q, "subject", of.subject)
		for _, body := range []obj{q, with(mine, "explain", true), with(mine, "consistency", "strong")} {
			list = append(list, ask{r.Method, r.Path, body})
		}
		if !of.known.IsZero() {
			list = append(list, ask{r.Method, r.Path, with(with(mine, "known_at", stamp(of.known)), "as_of", stamp(of.known))})
		}
		if of.session != "" {
			list = append(list, ask{r.Method, r.Path, with(with(mine, "session", of.session), "kinds", []string{"episode"})})
		}
	case "GET /v1/traces/{id}":
		each(of.traces)
	case "GET /v1/subjects/{subject}/consents", "GET /v1/traces": // which hold no word of a memory; they have tests of their own
	case "GET /v1/subjects/{subject}/export":
		get("/v1/subjects/" + of.subject + "/export")
		get("/v1/subjects/"+of.subject+"/export", "as_of", stamp(of.valid))
	default:
		return nil, false
	}
	return list, true
}

// silent are the routes that return no text of a memory, each with a call that
// succeeds, or fails as said, after something was planted.
func silent(p planted) map[string]ask {
	episode := obj{"subject": p.subject, "text": "More of " + p.word + ".", "source": obj{"kind": "chat", "ref": "r"}}
	fact := with(proposal(p.subject, "predicate_"+p.word, "more of "+p.word, p.episode), "scope", "scope-"+p.word)
	none := obj{}
	return map[string]ask{
		"GET /healthz":                       {path: "/healthz"},
		"GET /readyz":                        {path: "/readyz"},
		"GET /openapi.json":                  {path: "/openapi.json"},
		"GET /v1/weights":                    {path: "/v1/weights"},
		"GET /v1/projections":                {path: "/v1/projections"},
		"GET /v1/embedding":                  {path: "/v1/embedding"},
		"POST /v1/embedding":                 {body: obj{"model": "uselite"}, path: "/v1/embedding"},
		"POST /v1/projections/{name}/replay": {body: none, path: "/v1/projections/facts/replay"},
		"POST /v1/projections/{name}/verify": {body: none, path: "/v1/projections/facts/verify"},
		"POST /v1/projections/{name}/retry":  {body: none, path: "/v1/projections/facts/retry"},
		"GET /v1/operations/{id}":            {path: "/v1/operations/" + p.episode},
		"POST /v1/ledger/verify":             {body: none, path: "/v1/ledger/verify"},
		"GET /v1/ledger":                     {path: "/v1/ledger"},
		"GET /v1/ledger/checkpoint":          {path: "/v1/ledger/checkpoint"},
		"GET /v1/ledger/proof/{position}":    {path: "/v1/ledger/proof/1"},
		// Sealed, and the operator's alone.
		"GET /v1/backups/{kind}":                         {path: "/v1/backups/data"},
		"POST /v1/keys/rotate":                           {body: none, path: "/v1/keys/rotate"},
		"GET /v1/policies/{name}":                        {path: "/v1/policies/promotion"},
		"GET /v1/policies/{name}/history":                {path: "/v1/policies/promotion/history"},
		"PUT /v1/policies/{name}":                        {body: obj{"text": policy.Default().Text()}, path: "/v1/policies/promotion"},
		"POST /v1/policies/verify":                       {body: none, path: "/v1/policies/verify"},
		"POST /v1/policies/simulate":                     {body: none, path: "/v1/policies/simulate"},
		"GET /v1/retention/preview":                      {path: "/v1/retention/preview"},
		"GET /v1/suppressions":                           {path: "/v1/suppressions"},
		"DELETE /v1/suppressions/{id}":                   {path: "/v1/suppressions/" + p.episode},
		"GET /v1/subjects/{subject}/holds":               {path: "/v1/subjects/" + p.subject + "/holds"},
		"GET /v1/erasures":                               {path: "/v1/erasures"},
		"GET /v1/erasures/{id}":                          {path: "/v1/erasures/" + p.episode},
		"GET /v1/erasures/{id}/receipt":                  {path: "/v1/erasures/" + p.episode + "/receipt"},
		"PUT /v1/subjects/{subject}/holds/{hold}":        {body: none, path: "/v1/subjects/" + p.subject + "/holds/" + p.word},
		"DELETE /v1/subjects/{subject}/holds/{hold}":     {body: none, path: "/v1/subjects/" + p.subject + "/holds/" + p.word},
		"PUT /v1/subjects/{subject}/consents/{category}": {body: obj{"granted": true, "basis": p.word}, path: "/v1/subjects/" + p.subject + "/consents/" + p.word},
		"POST /v1/episodes":                              {body: episode, path: "/v1/episodes"},
		"POST /v1/episodes/batch":                        {body: obj{"items": []obj{episode}}, path: "/v1/episodes/batch"},
		"POST /v1/sources/revisions":                     {body: obj{"source": obj{"kind": "chat", "ref": p.word}, "revision": p.word}, path: "/v1/sources/revisions"},
		"GET /v1/sources":                                {path: "/v1/sources?kind=chat&ref=" + p.word},
		"POST /v1/facts":                                 {body: fact, path: "/v1/facts"},
		"POST /v1/reviews/{id}/approve":                  {body: obj{"content_hash": p.hash(p.waits), "note": p.word}, path: "/v1/reviews/" + p.waits + "/approve"},
		"POST /v1/reviews/{id}/undo":                     {body: none, path: "/v1/reviews/" + p.waits + "/undo"},
		"POST /v1/reviews/{id}/reject":                   {body: obj{"content_hash": p.hash(p.waitsToo), "note": p.word}, path: "/v1/reviews/" + p.waitsToo + "/reject"},
		"POST /v1/facts/{id}/retract":                    {body: obj{"reason": "because of " + p.word}, path: "/v1/facts/" + p.fact + "/retract"},
		"POST /v1/traces/{id}/use":                       {body: obj{"memory_ids": []string{p.episode}, "answer_ref": p.word}, path: "/v1/traces/" + p.trace + "/use"},
		"POST /v1/traces/{id}/feedback":                  {body: obj{"memory_id": p.episode, "judgement": "useful"}, path: "/v1/traces/" + p.trace + "/feedback"},
		"POST /v1/forget":                                {body: obj{"filter": obj{"subject": p.subject}, "dry_run": true, "reason": p.word}, path: "/v1/forget"},
		"DELETE /v1/facts/{id}":                          {method: http.MethodDelete, path: "/v1/facts/" + p.fact},
		"DELETE /v1/episodes/{id}":                       {method: http.MethodDelete, path: "/v1/episodes/" + p.episode},
		"POST /v1/subjects/{subject}/forget":             {body: obj{"reason": p.word}, path: "/v1/subjects/" + p.subject + "/forget"},
	}
}

// Every route there is, taken from the table itself, is either asked wherever a
// forgotten memory is looked for, or shown here to return no text of a memory:
// one that is new, or does not say that it reads, fails.
func TestEveryRouteReadsOrIsSilent(t *testing.T) {
	t.Parallel()
	f := open(t)
	p := plant(f, f.LocalToken(), "maria", "xyzzymaria") // who may call nearly every one
	p.waits, p.waitsToo = p.candidate("waiting"), p.candidate("waiting_too")
	quiet := silent(p)
	var names []string
	for _, r := range f.Routes() {
		name := r.Method + " " + r.Path
		_, reads := asks(r, about{})
		_, says := quiet[name]
		if reads == says || reads != r.Reads {
			t.Errorf("%s: asked for memories %v, called for none %v, says that it reads %v", name, reads, says, r.Reads)
		}
		if says {
			names = append(names, name)
		}
	}
	// What ends things comes last, the fact before what it came from.
	ending := []string{"PUT /v1/subjects/{subject}/holds/{hold}", "DELETE /v1/subjects/{subject}/holds/{hold}", "DELETE /v1/facts/{id}", "DELETE /v1/episodes/{id}", "POST /v1/subjects/{subject}/forget"}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(slices.Index(ending, a), slices.Index(ending, b))
	})
	for _, name := range names {
		a := quiet[name]
		if a.method == "" {
			a.method, _, _ = strings.Cut(name, " ")
		}
		var body []byte
		if a.body != nil {
			var err error
			if body, err = json.Marshal(a.body); err != nil {
				t.Fatal(err)
			}
		}
		token := p.token
		if a.isReview() {
			token = f.asReviewer(token)
		}
		got := f.call(token, a.method, a.path, body)
		if bytes.Contains(got.body, []byte(p.word)) {
			t.Errorf("%s does not say that it reads and returns text of a memory: %s", name, got.body)
		}
		if got.status >= 300 && !strings.Contains(name, "operations") && !strings.Contains(name, "/erasures/") && !strings.Contains(name, "/suppressions/") && !strings.Contains(name, "/ledger/proof") {
			t.Errorf("control: %s does nothing: %d %s", name, got.status, got.body)
		}
	}
}
