package node_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// suppressed is how many values an answer says are kept out, -1 if it does not say.
func suppressed(a answer) int {
	a.t.Helper()
	if n := as[tombstones.Erasure](a).Suppressed; n != nil {
		return *n
	}
	return -1
}

func (f *fixture) suppressions(token string) []suppression.Suppression {
	f.t.Helper()
	return as[query.SuppressionsAnswer](f.do(token, http.MethodGet, "/v1/suppressions", nil, http.StatusOK)).Suppressions
}

// tell captures a text and expects a status.
func (f *fixture) tell(token, subject, text string, want int) {
	f.t.Helper()
	f.do(token, http.MethodPost, "/v1/episodes", obj{"subject": subject, "text": text, "source": obj{"kind": "chat", "ref": "r"}}, want)
}

// A forget says how many values it keeps out, the same under its key and after a
// lost answer, and refuses what it cannot know.
func TestSuppressionSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	one, two := f.capture(token, "maria", "the number is 555"), f.capture(token, "maria", "The  NUMBER is 555")
	three := f.capture(token, "maria", "the street is long")
	f.settle()
	ids := obj{"ids": []string{one, two, three}, "suppress": true}
	if got := suppressed(f.do(token, http.MethodPost, "/v1/forget", with(ids, "suppress", false), http.StatusAccepted, "Idempotency-Key", "plain")); got != -1 {
		t.Errorf("nothing was to be kept out: %d", got)
	}
	// They are forgotten now, and nobody knows their values.
	a := f.do(token, http.MethodPost, "/v1/forget", ids, http.StatusUnprocessableEntity)
	if get[string](a, "code") != "values_unknown" || get[string](a, "field") != "suppress" {
		t.Errorf("refused with %s", a.body)
	}
	if got := f.suppressions(token); len(got) != 0 {
		t.Errorf("kept out: %+v", got)
	}
	f.tell(token, "pedro", "the number is 555", http.StatusCreated)

	one, two = f.capture(token, "maria", "the number is 556"), f.capture(token, "maria", "The  NUMBER is 556")
	three = f.capture(token, "maria", "the street is short")
	f.settle()
	ids = obj{"ids": []string{one, two, three}, "suppress": true}
	for range 2 {
		if got := suppressed(f.do(token, http.MethodPost, "/v1/forget", ids, http.StatusAccepted, "Idempotency-Key", "k")); got != 2 {
			t.Errorf("%d values are kept out, want 2", got)
		}
	}
	if got := f.suppressions(token); len(got) != 1 || got[0].Values != 2 || got[0].Since.IsZero() {
		t.Errorf("kept out: %+v", got)
	}
	f.tell(token, "pedro", "the number\ufe0f is 556", http.StatusUnprocessableEntity)
	// What matches nothing says so.
	if got := suppressed(f.do(token, http.MethodPost, "/v1/forget", obj{"filter": obj{"session": "none"}, "suppress": true}, http.StatusAccepted)); got != 0 {
		t.Errorf("%d values of nothing", got)
	}
}

// The same for a whole subject: also when it is asked for again, when it is held, and
// when its values are gone.
func TestSuppressionOfASubjectSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	forget := func(subject string, suppress bool, want int, header ...string) answer {
		t.Helper()
		return f.do(token, http.MethodPost, "/v1/subjects/"+subject+"/forget", obj{"suppress": suppress}, want, header...)
	}
	f.capture(token, "maria", "maria one")
	f.capture(token, "maria", "maria two")
	f.settle()
	id := get[string](forget("maria", true, http.StatusAccepted), "erasure_id")
	again := forget("maria", true, http.StatusAccepted) // its answer was lost
	if suppressed(again) != 2 || get[string](again, "erasure_id") != id {
		t.Errorf("again: %s", again.body)
	}
	// One that was forgotten without has no values any more.
	f.capture(token, "rosa", "rosa one")
	f.settle()
	forget("rosa", false, http.StatusAccepted)
	if a := forget("rosa", true, http.StatusUnprocessableEntity); get[string](a, "code") != "values_unknown" {
		t.Errorf("rosa: %s", a.body)
	}
	if a := forget("nobody", true, http.StatusAccepted); suppressed(a) != 0 {
		t.Errorf("nobody: %s", a.body)
	}
	// A hold keeps what is forgotten, and shows none of it; its values are kept out all
	// the same if it was not forgotten before.
	for _, name := range []string{"anna", "eva"} {
		f.capture(token, name, name+" lives here")
		f.settle()
		f.do(token, http.MethodPut, "/v1/subjects/"+name+"/holds/case", nil, http.StatusOK)
	}
	if a := forget("anna", true, http.StatusAccepted); suppressed(a) != 1 || get[string](a, "level") != "held" {
		t.Errorf("a held one: %s", a.body)
	}
	f.tell(token, "pedro", "Anna lives here", http.StatusUnprocessableEntity)
	forget("eva", false, http.StatusAccepted)
	forget("eva", true, http.StatusUnprocessableEntity)
	f.tell(token, "pedro", "eva lives here", http.StatusCreated)
	// What it is to keep out is part of what a key stands for.
	f.capture(token, "ines", "ines one")
	f.settle()
	forget("ines", false, http.StatusAccepted, "Idempotency-Key", "k")
	if a := forget("ines", true, http.StatusConflict, "Idempotency-Key", "k"); get[string](a, "code") != "idempotency_key_reused" {
		t.Errorf("another request under the key: %s", a.body)
	}
	f.tell(token, "pedro", "ines one", http.StatusCreated)
}

// What is kept out can be seen, by ids, times and numbers, and lifted; a value that
// two keep out is let in when both are.
func TestSuppressionsAreLifted(t *testing.T) {
	t.Parallel()
	f := open(t)
	token, other := f.token("acme"), f.token("other")
	for range 2 {
		id := f.capture(token, "maria", "xyzzy street 9")
		f.settle()
		// Both name the value while it may still be told.
		f.do(token, http.MethodPost, "/v1/forget", obj{"ids": []string{id}}, http.StatusAccepted)
	}
	first, second := f.capture(token, "maria", "xyzzy street 9"), f.capture(token, "rosa", "Xyzzy Street 9")
	f.settle()
	for _, id := range []string{first, second} {
		if got := suppressed(f.do(token, http.MethodPost, "/v1/forget", obj{"ids": []string{id}, "suppress": true}, http.StatusAccepted)); got != 1 {
			t.Errorf("%d values, want 1", got)
		}
	}
	list := f.suppressions(token)
	if len(list) != 2 || list[0].Position <= list[1].Position || list[0].ID == list[1].ID {
		t.Fatalf("suppressions %+v", list)
	}
	page := as[query.SuppressionsAnswer](f.do(token, http.MethodGet, "/v1/suppressions?limit=1", nil, http.StatusOK))
	rest := as[query.SuppressionsAnswer](f.do(token, http.MethodGet, "/v1/suppressions?limit=1&cursor="+page.Cursor, nil, http.StatusOK))
	if len(page.Suppressions) != 1 || len(rest.Suppressions) != 1 || rest.Suppressions[0] != list[1] || rest.Cursor != "" {
		t.Errorf("pages %+v and %+v", page, rest)
	}
	for _, bad := range []string{"limit=0", "cursor=x"} {
		f.do(token, http.MethodGet, "/v1/suppressions?"+bad, nil, http.StatusBadRequest)
	}
	if a := f.do(token, http.MethodGet, "/v1/suppressions", nil, http.StatusOK); bytes.Contains(bytes.ToLower(a.body), []byte("xyzzy")) || bytes.Contains(a.body, []byte("hash")) {
		t.Errorf("the list tells of values: %s", a.body)
	}
	if got := f.suppressions(other); len(got) != 0 {
		t.Errorf("another tenant's: %+v", got)
	}
	for _, role := range []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAuditor} {
		f.do(f.token("acme", role), http.MethodGet, "/v1/suppressions", nil, http.StatusForbidden)
		f.do(f.token("acme", role), http.MethodDelete, "/v1/suppressions/"+list[0].ID, nil, http.StatusForbidden)
	}
	f.do(other, http.MethodDelete, "/v1/suppressions/"+list[0].ID, nil, http.StatusNotFound)
	f.tell(token, "pedro", "xyzzy street 9", http.StatusUnprocessableEntity)
	a := f.do(token, http.MethodDelete, "/v1/suppressions/"+list[0].ID, nil, http.StatusOK)
	if get[float64](a, "position") == 0 {
		t.Errorf("lifted: %s", a.body)
	}
	f.tell(token, "pedro", "xyzzy street 9", http.StatusUnprocessableEntity)
	f.do(token, http.MethodDelete, "/v1/suppressions/"+list[0].ID, nil, http.StatusNotFound)
	f.do(token, http.MethodDelete, "/v1/suppressions/"+list[1].ID, nil, http.StatusOK)
	f.tell(token, "pedro", "xyzzy street 9", http.StatusCreated)
	f.close()
	f.start()
	f.settle()
	if got := f.suppressions(token); len(got) != 0 {
		t.Errorf("after a restart: %+v", got)
	}
	f.tell(token, "pedro", "xyzzy street 9", http.StatusCreated)
}
