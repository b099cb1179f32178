package node_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

// erasures are the ids on all pages.
func (f *fixture) erasures(token string, limit int) []string {
	f.t.Helper()
	ids := []string{}
	for cursor := ""; ; {
		page := as[tombstones.Erasures](f.do(token, http.MethodGet, fmt.Sprintf("/v1/erasures?limit=%d&cursor=%s", limit, cursor), nil, http.StatusOK))
		if len(page.Erasures) > limit {
			f.t.Fatalf("%d on a page of %d", len(page.Erasures), limit)
		}
		for _, e := range page.Erasures {
			ids = append(ids, e.ErasureID)
		}
		if cursor = page.Cursor; cursor == "" {
			return ids
		}
	}
}

// Whoever lost an answer finds the erasure: newest first, page by page, those of the
// own tenant alone, and without a value.
func TestErasuresAreListed(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	if got := f.erasures(token, 3); len(got) != 0 {
		t.Errorf("nothing was forgotten: %v", got)
	}
	var want []string
	for i := range 7 {
		id := f.capture(token, "maria", fmt.Sprintf("xyzzy %d", i))
		out := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+id, nil, http.StatusAccepted))
		want = append([]string{out.ErasureID}, want...)
	}
	other := f.token("other")
	id := f.capture(other, "maria", "hers")
	theirs := as[tombstones.Erasure](f.do(other, http.MethodDelete, "/v1/episodes/"+id, nil, http.StatusAccepted)).ErasureID
	for _, limit := range []int{1, 3, 7, 200} {
		if diff := cmp.Diff(want, f.erasures(token, limit)); diff != "" {
			t.Errorf("by %d: %s", limit, diff)
		}
	}
	if diff := cmp.Diff([]string{theirs}, f.erasures(other, 50)); diff != "" {
		t.Errorf("another tenant: %s", diff)
	}
	// What is begun between two pages is on neither.
	first := as[tombstones.Erasures](f.do(token, http.MethodGet, "/v1/erasures?limit=4", nil, http.StatusOK))
	id = f.capture(token, "maria", "one more")
	newest := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+id, nil, http.StatusAccepted)).ErasureID
	rest := as[tombstones.Erasures](f.do(token, http.MethodGet, "/v1/erasures?limit=4&cursor="+first.Cursor, nil, http.StatusOK))
	if len(first.Erasures) != 4 || len(rest.Erasures) != 3 || rest.Erasures[0].ErasureID != want[4] {
		t.Errorf("pages of %d and %d", len(first.Erasures), len(rest.Erasures))
	}
	if got := f.erasures(token, 200); got[0] != newest {
		t.Errorf("the newest is not the first")
	}
	for _, bad := range []string{"limit=0", "limit=201", "cursor=0", "cursor=abc", "cursor=-1", "subject=maria"} {
		f.do(token, http.MethodGet, "/v1/erasures?"+bad, nil, http.StatusBadRequest)
	}
	f.do(f.token("acme", events.RoleReviewer), http.MethodGet, "/v1/erasures", nil, http.StatusForbidden)
	a := f.do(f.token("acme", events.RoleAuditor), http.MethodGet, "/v1/erasures", nil, http.StatusOK)
	if strings.Contains(string(a.body), "xyzzy") || strings.Contains(string(a.body), "maria") {
		t.Errorf("the list tells of what was forgotten: %s", a.body)
	}
	f.close()
	f.start()
	if got := f.erasures(token, 200); len(got) != 8 || got[0] != newest {
		t.Errorf("after a restart: %v", got)
	}
}

// A forget that matched nothing names no erasure and claims nothing.
func TestForgetOfNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "pedro", "He stays.")
	f.settle()
	for _, header := range [][]string{nil, {"Idempotency-Key", "k"}} {
		for path, body := range map[string]obj{
			"/v1/subjects/nobody/forget": {},
			"/v1/forget":                 {"filter": obj{"subject": "nobody"}},
		} {
			for range 2 {
				out := as[tombstones.Erasure](f.do(token, http.MethodPost, path, body, http.StatusAccepted, header...))
				if out.Matched != 0 || out.ErasureID != "" || out.Level != events.LevelDenied || out.Position != 0 {
					t.Errorf("%s: %+v", path, out)
				}
			}
		}
	}
	if got := f.erasures(token, 50); len(got) != 0 {
		t.Errorf("there are erasures: %v", got)
	}
	out := as[tombstones.Erasure](f.do(f.token("new"), http.MethodPost, "/v1/subjects/x/forget", obj{}, http.StatusAccepted))
	if out.ErasureID != "" || out.Level != events.LevelDenied {
		t.Errorf("a tenant without anything: %+v", out)
	}
}

// The same name, forgotten, told of again and forgotten again, is another erasure
// each time, and asking once more leads to the last.
func TestForgetOfANameAgainAndAgain(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	seen := map[string]bool{}
	for n := 1; n <= 3; n++ {
		for i := range n {
			f.capture(token, "maria", fmt.Sprintf("note %d of %d", i, n))
		}
		f.settle()
		var first tombstones.Erasure
		for again := range 3 {
			out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted))
			if again == 0 {
				first = out
			}
			if out.Matched != n || out.ErasureID != first.ErasureID || seen[out.ErasureID] {
				t.Errorf("forget %d, call %d: %+v", n, again, out)
			}
			f.do(token, http.MethodGet, "/v1/erasures/"+out.ErasureID, nil, http.StatusOK)
		}
		seen[first.ErasureID] = true
	}
	f.do(token, http.MethodGet, "/v1/erasures/"+uuid.NewString(), nil, http.StatusNotFound)
}

// A dry run counts what would go along, and a maximum is one of both.
func TestCascadeIsCounted(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	one, two := f.capture(token, "maria", "one", "session", "s"), f.capture(token, "maria", "two", "session", "s")
	other := f.capture(token, "maria", "three")
	alone := get[string](f.do(token, http.MethodPost, "/v1/facts", proposal("maria", "alone", 1, one), http.StatusCreated), "fact_id")
	both := get[string](f.do(token, http.MethodPost, "/v1/facts", with(proposal("maria", "both", 1, one), "source_episodes", []string{one, two}), http.StatusCreated), "fact_id")
	kept := get[string](f.do(token, http.MethodPost, "/v1/facts", with(proposal("maria", "kept", 1, one), "source_episodes", []string{one, other}), http.StatusCreated), "fact_id")
	f.settle()
	dry := func(body obj, matched, cascaded int) {
		t.Helper()
		out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/forget", with(body, "dry_run", true), http.StatusAccepted))
		if out.Matched != matched || out.Cascaded == nil || *out.Cascaded != cascaded || out.ErasureID != "" || out.Level != "" {
			t.Errorf("%v: %+v, want %d and %d", body, out, matched, cascaded)
		}
	}
	session := obj{"filter": obj{"session": "s"}}
	dry(session, 2, 2)
	dry(obj{"ids": []string{one}}, 1, 1)
	dry(obj{"ids": []string{two}}, 1, 0)
	dry(obj{"ids": []string{other}}, 1, 0)
	dry(obj{"ids": []string{one, alone}}, 2, 0)
	dry(obj{"ids": []string{alone}}, 1, 0)
	dry(obj{"filter": obj{"subject": "maria"}}, 6, 0)
	for limit, want := range map[int]int{2: http.StatusUnprocessableEntity, 3: http.StatusUnprocessableEntity} {
		a := f.do(token, http.MethodPost, "/v1/forget", with(session, "max", limit), want)
		if get[string](a, "code") != "over_max" {
			t.Errorf("over the maximum: %s", a.body)
		}
	}
	for _, id := range []string{one, two} {
		f.do(token, http.MethodGet, "/v1/episodes/"+id, nil, http.StatusOK)
	}
	out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/forget", with(session, "max", 4), http.StatusAccepted))
	if out.Matched != 2 || out.Cascaded != nil {
		t.Errorf("forget: %+v", out)
	}
	for id, want := range map[string]int{alone: http.StatusGone, both: http.StatusGone, kept: http.StatusOK} {
		f.do(token, http.MethodGet, "/v1/facts/"+id, nil, want)
	}
}
