package node_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
)

// isReview says that a reviewer asks, who is no agent.
func (a ask) isReview() bool { return strings.HasPrefix(a.path, "/v1/reviews") }

// asReviewer is a credential of the same tenant for somebody who only reviews.
func (f *fixture) asReviewer(token string) string {
	f.t.Helper()
	a, err := node.OpenAuthority(f.dir, time.Now)
	if err != nil {
		f.t.Fatal(err)
	}
	c, err := a.Verify(token)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.tokenOf(events.Caller{
		Tenant: c.Tenant, Principal: "rita", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser,
	})
}

// candidate proposes what its proposer is not sure of, which waits for a review.
func (p planted) candidate(predicate string) string {
	p.f.t.Helper()
	a := p.f.do(p.token, http.MethodPost, "/v1/facts",
		with(proposal(p.subject, predicate+p.word, "value "+p.word, p.episode), "confidence", 0.5), http.StatusCreated)
	if d := get[string](a, "decision"); d != "review" {
		p.f.t.Fatalf("decision %s: %s", d, a.body)
	}
	p.f.settle()
	return get[string](a, "candidate_id")
}

// items are those of a page of reviews.
func items(a answer) (list []map[string]any) {
	a.t.Helper()
	for _, item := range get[[]any](a, "reviews") {
		m, ok := item.(map[string]any)
		if !ok {
			a.t.Fatalf("no list of reviews: %s", a.body)
		}
		list = append(list, m)
	}
	return list
}

// hash is what an approval has to name.
func (p planted) hash(id string) string {
	p.f.t.Helper()
	if id == "" {
		return ""
	}
	return get[string](p.f.do(p.f.asReviewer(p.token), http.MethodGet, "/v1/reviews/"+id, nil, http.StatusOK), "content_hash")
}

// What waits is shown to a reviewer, with its text, its sources and its hash, and
// to no agent; not while its subject is held, and never again once it is forgotten.
func TestReviewsShowWhatIsThere(t *testing.T) {
	t.Parallel()
	f := open(t)
	p := plant(f, f.token("acme"), "maria", "xyzzymaria")
	fact := p.candidate("waiting")
	external := f.tokenOf(events.Caller{Tenant: "acme", Principal: "mail", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustExternal})
	mail := get[string](f.do(external, http.MethodPost, "/v1/episodes",
		obj{"subject": "maria", "text": "A mail that says " + p.word, "source": obj{"kind": "mail", "ref": "m"}}, http.StatusCreated), "id")
	f.settle()
	rita := f.asReviewer(p.token)
	paths := []string{"/v1/reviews", "/v1/reviews?state=all", "/v1/reviews/" + fact, "/v1/reviews/" + mail}
	shown := func(when string, want bool) {
		t.Helper()
		for _, path := range paths {
			a := f.call(rita, http.MethodGet, path, nil)
			if got := bytes.Contains(a.body, []byte(p.word)); got != want || a.status == http.StatusInternalServerError {
				t.Errorf("%s: %s: shown %v, want %v: %d %s", when, path, got, want, a.status, a.body)
			}
		}
	}
	shown("it waits", true)
	list := items(f.do(rita, http.MethodGet, "/v1/reviews", nil, http.StatusOK))
	if len(list) != 2 || list[0]["kind"] != "episode" || list[1]["kind"] != "fact" || list[0]["deadline"] == nil || list[1]["deadline"] == nil {
		t.Errorf("the queue: %v", list)
	}
	// Page by page it is the same.
	var ids []any
	for cursor := ""; ; {
		a := f.do(rita, http.MethodGet, "/v1/reviews?limit=1&cursor="+cursor, nil, http.StatusOK)
		for _, r := range items(a) {
			ids = append(ids, r["id"])
		}
		if !bytes.Contains(a.body, []byte(`"cursor"`)) {
			break
		}
		cursor = get[string](a, "cursor")
	}
	if len(ids) != 2 || ids[0] != mail || ids[1] != fact {
		t.Errorf("in pages: %v", ids)
	}
	for _, token := range []string{p.token, external, f.token("acme", events.RoleAgent)} {
		for _, path := range paths {
			f.do(token, http.MethodGet, path, nil, http.StatusForbidden)
		}
	}
	f.do(f.token("acme-corp", events.RoleReviewer), http.MethodGet, paths[2], nil, http.StatusNotFound)
	f.do(f.token("acme-corp", events.RoleReviewer), http.MethodGet, paths[3], nil, http.StatusNotFound)
	f.do(rita, http.MethodGet, "/v1/reviews/"+p.fact, nil, http.StatusNotFound) // it never waited

	hold := "/v1/subjects/maria/holds/case-1"
	f.do(p.token, http.MethodPut, hold, obj{}, http.StatusOK)
	f.settle()
	shown("it is held", false)
	f.do(p.token, http.MethodDelete, hold, nil, http.StatusOK)
	f.settle()
	shown("the hold is lifted", true)
	f.do(p.token, http.MethodPost, "/v1/subjects/maria/forget", obj{"reason": "asked to"}, http.StatusAccepted)
	f.settle()
	shown("it is forgotten", false)
}

// The whole way over the door: what a tool says is shown, approved as shown, taken
// back, and rejected.
func TestReview(t *testing.T) {
	t.Parallel()
	f := open(t)
	p := plant(f, f.token("acme"), "maria", "xyzzymaria")
	rita := f.asReviewer(p.token)
	fact := p.candidate("waiting")
	f.do(rita, http.MethodPost, "/v1/reviews/"+fact+"/approve", obj{"content_hash": "00"}, http.StatusBadRequest)
	old := p.hash(p.candidate("other"))
	conflict := f.do(rita, http.MethodPost, "/v1/reviews/"+fact+"/approve", obj{"content_hash": old}, http.StatusConflict)
	if get[float64](conflict, "current_version") == 0 {
		t.Errorf("%s", conflict.body)
	}
	own := f.tokenOf(events.Caller{Tenant: "acme", Principal: "p", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser})
	f.do(own, http.MethodPost, "/v1/reviews/"+fact+"/approve", obj{"content_hash": p.hash(fact)}, http.StatusForbidden)
	// It is one's own still when somebody else has edited it.
	mine := p.candidate("edited")
	edit := f.do(rita, http.MethodPost, "/v1/reviews/"+mine+"/approve",
		obj{"content_hash": p.hash(mine), "edit": obj{"value": "another"}}, http.StatusOK)
	f.settle()
	for token, want := range map[string]bool{own: true, rita: true, f.tokenOf(events.Caller{
		Tenant: "acme", Principal: "rob", Roles: []events.Role{events.RoleReviewer}, Trust: events.TrustUser,
	}): false} {
		one := f.do(token, http.MethodGet, "/v1/reviews/"+get[string](edit, "candidate_id"), nil, http.StatusOK)
		if got := get[bool](one, "own"); got != want {
			t.Errorf("own is %v, want %v: %s", got, want, one.body)
		}
	}
	for _, trust := range []events.Trust{events.TrustExternal, events.TrustTool, events.TrustAgent} {
		bot := f.tokenOf(events.Caller{Tenant: "acme", Principal: "rob", Roles: []events.Role{events.RoleReviewer}, Trust: trust})
		f.do(bot, http.MethodGet, "/v1/reviews", nil, http.StatusForbidden)
		f.do(bot, http.MethodGet, "/v1/reviews/"+fact, nil, http.StatusForbidden)
		f.do(bot, http.MethodPost, "/v1/reviews/"+fact+"/approve", obj{"content_hash": p.hash(fact)}, http.StatusForbidden)
	}
	a := f.do(rita, http.MethodPost, "/v1/reviews/"+fact+"/approve", obj{"content_hash": p.hash(fact), "note": "seen"}, http.StatusOK)
	if get[string](a, "decision") != "promoted" || get[string](a, "fact_id") != fact {
		t.Errorf("%s", a.body)
	}
	f.settle()
	if got := f.do(p.token, http.MethodGet, "/v1/facts/"+fact, nil, http.StatusOK); bytes.Contains(got.body, []byte(`"reviewed_at":null`)) {
		t.Errorf("%s", got.body)
	}
	for state, want := range map[string]bool{"approved": true, "all": true, "open": false, "rejected": false, "expired": false} {
		list := f.do(rita, http.MethodGet, "/v1/reviews?state="+state, nil, http.StatusOK)
		if got := bytes.Contains(list.body, []byte(fact)); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
	if one := f.do(rita, http.MethodGet, "/v1/reviews/"+fact, nil, http.StatusOK); !bytes.Contains(one.body, []byte("seen")) {
		t.Errorf("the note is not shown: %s", one.body)
	}
	f.do(rita, http.MethodPost, "/v1/reviews/"+fact+"/undo", nil, http.StatusOK)
	f.settle()
	f.do(rita, http.MethodPost, "/v1/reviews/"+fact+"/undo", nil, http.StatusConflict)
	if got := f.do(p.token, http.MethodGet, "/v1/facts/"+fact, nil, http.StatusOK); !bytes.Contains(got.body, []byte(`"reviewed_at":null`)) {
		t.Errorf("taken back: %s", got.body)
	}
	f.do(rita, http.MethodPost, "/v1/reviews/"+fact+"/reject", obj{"content_hash": p.hash(fact)}, http.StatusOK)
}

// An episode in quarantine is released exactly as it was shown, and is there for
// agents then; another is dropped.
func TestReviewOfEpisodes(t *testing.T) {
	t.Parallel()
	f := open(t)
	external := f.tokenOf(events.Caller{Tenant: "acme", Principal: "mail", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustExternal})
	rita := f.asReviewer(external)
	for verb, want := range map[string]int{"approve": http.StatusOK, "reject": http.StatusGone} {
		id := get[string](f.do(external, http.MethodPost, "/v1/episodes",
			obj{"subject": "maria", "text": "A mail.", "source": obj{"kind": "mail", "ref": "m"}}, http.StatusCreated), "id")
		f.settle()
		hash := get[string](f.do(rita, http.MethodGet, "/v1/reviews/"+id, nil, http.StatusOK), "content_hash")
		body := obj{"content_hash": hash, "note": "seen"}
		done := f.do(rita, http.MethodPost, "/v1/reviews/"+id+"/"+verb, body, http.StatusOK, "Idempotency-Key", verb)
		if bytes.Contains(done.body, []byte(`"policy"`)) {
			t.Errorf("no policy has decided: %s", done.body)
		}
		if again := f.do(rita, http.MethodPost, "/v1/reviews/"+id+"/"+verb, body, http.StatusOK, "Idempotency-Key", verb); !bytes.Equal(again.body, done.body) {
			t.Errorf("again: %s, first %s", again.body, done.body)
		}
		once := map[string]int{"approve": http.StatusConflict, "reject": http.StatusGone}[verb]
		f.do(rita, http.MethodPost, "/v1/reviews/"+id+"/"+verb, body, once)
		f.settle()
		f.do(rita, http.MethodGet, "/v1/reviews/"+id, nil, http.StatusNotFound)
		a := f.call(f.token("acme"), http.MethodGet, "/v1/episodes/"+id, nil)
		if a.status != want && (verb != "reject" || a.status != http.StatusNotFound) {
			t.Errorf("%s: %d %s", verb, a.status, a.body)
		}
	}
}
