package node_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// What a subject has agreed to is shown with its history to who may know, and goes
// with the subject.
func TestConsentsAreShown(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "maria", "She plays the cello.")
	set := func(category string, body obj) {
		t.Helper()
		f.do(token, http.MethodPut, "/v1/subjects/maria/consents/"+category, body, http.StatusOK)
	}
	set("health", obj{"granted": true, "basis": "signed form 7"})
	set("music", obj{"granted": true})
	set("health", obj{"granted": false})
	f.settle()
	const path = "/v1/subjects/maria/consents"
	read := func(roles ...events.Role) query.ConsentsAnswer {
		t.Helper()
		return as[query.ConsentsAnswer](f.do(f.token("acme", roles...), http.MethodGet, path, nil, http.StatusOK))
	}
	for _, role := range []events.Role{events.RoleAdmin, events.RoleReviewer} {
		c := read(role)
		if len(c.History) != 3 || len(c.Current) != 2 || c.Position == 0 {
			t.Fatalf("consents %+v", c)
		}
		first, last := c.History[0], c.History[2]
		if first.Category != "health" || first.Basis != "signed form 7" || !first.Granted || first.RecordedAt.IsZero() ||
			last.Category != "health" || last.Granted || last.Erasure == "" {
			t.Errorf("history %+v", c.History)
		}
		if c.Current[0] != last || c.Current[1].Category != "music" || !c.Current[1].Granted {
			t.Errorf("current %+v", c.Current)
		}
	}
	for _, role := range []events.Role{events.RoleAgent, events.RoleAuditor} {
		f.do(f.token("acme", role), http.MethodGet, path, nil, http.StatusForbidden)
	}
	f.do(f.token("other"), http.MethodGet, path, nil, http.StatusNotFound)
	f.do(token, http.MethodGet, "/v1/subjects/nobody/consents", nil, http.StatusNotFound)
	f.do(token, http.MethodPut, "/v1/subjects/maria/holds/case", nil, http.StatusOK)
	f.do(token, http.MethodGet, path, nil, http.StatusNotFound)
	f.do(token, http.MethodDelete, "/v1/subjects/maria/holds/case", nil, http.StatusOK)
	read(events.RoleAdmin)
	f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted)
	if a := f.do(token, http.MethodGet, path, nil, http.StatusNotFound); bytes.Contains(a.body, []byte("signed")) {
		t.Errorf("after the forget: %s", a.body)
	}
}

// Holds are shown with their history, without their names, also of a subject that is
// forgotten and held.
func TestHoldsAreShown(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "maria", "She plays the cello.")
	const path = "/v1/subjects/maria/holds"
	read := func() tombstones.Holds {
		t.Helper()
		a := f.do(f.token("acme", events.RoleAdmin), http.MethodGet, path, nil, http.StatusOK)
		if bytes.Contains(a.body, []byte("xyzzy")) {
			t.Errorf("a name is shown: %s", a.body)
		}
		return as[tombstones.Holds](a)
	}
	if h := read(); h.Held || len(h.History) != 0 {
		t.Errorf("holds %+v", h)
	}
	for _, name := range []string{"xyzzy-1", "xyzzy-2"} {
		f.do(token, http.MethodPut, path+"/"+name, nil, http.StatusOK)
	}
	f.do(token, http.MethodDelete, path+"/xyzzy-1", nil, http.StatusOK)
	h := read()
	if !h.Held || len(h.History) != 3 || len(h.Current) != 1 || h.Current[0] != h.History[1] || h.History[2].Token != h.History[0].Token || h.History[2].Held {
		t.Errorf("holds %+v", h)
	}
	for _, role := range []events.Role{events.RoleAgent, events.RoleAuditor, events.RoleReviewer} {
		f.do(f.token("acme", role), http.MethodGet, path, nil, http.StatusForbidden)
	}
	f.do(f.token("other"), http.MethodGet, path, nil, http.StatusNotFound)
	f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted)
	if h := read(); !h.Held {
		t.Errorf("forgotten and held: %+v", h)
	}
	f.do(token, http.MethodDelete, path+"/xyzzy-2", nil, http.StatusOK)
}
