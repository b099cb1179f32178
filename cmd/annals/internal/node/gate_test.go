package node_test

import (
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
)

// Through the door: the version that a proposal names, what it was recalled from,
// a credential in its value, and what a tool is told.
func TestGateThroughTheDoor(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	source := f.capture(token, "maria", "I moved to Rome.")
	rome := f.do(token, http.MethodPost, "/v1/facts", proposal("maria", "city", "Rome", source), http.StatusCreated)
	first := get[string](rome, "fact_id")
	oslo := f.do(token, http.MethodPost, "/v1/facts",
		with(with(proposal("maria", "city", "Oslo", source), "supersedes", first), "observed_at", "2026-02-01T00:00:00Z"), http.StatusCreated)
	if get[string](oslo, "decision") != "promoted" {
		t.Fatalf("control: %s", oslo.body)
	}
	for range 2 { // the first has written nothing to the slot
		stale := f.do(token, http.MethodPost, "/v1/facts",
			with(with(proposal("maria", "city", "Bonn", source), "supersedes", first), "observed_at", "2026-02-02T00:00:00Z"), http.StatusConflict)
		if get[string](stale, "code") != "conflict" || get[float64](stale, "current_version") != get[float64](oslo, "position") {
			t.Errorf("%s", stale.body)
		}
	}
	unknown := "0190a1b2-0000-7000-8000-000000000000"
	for name, body := range map[string]obj{
		"an unknown recall": with(proposal("maria", "city", "Bonn", source), "traces", []string{unknown}),
		"a credential":      with(proposal("maria", "city", "-----BEGIN RSA PRIVATE "+"KEY-----", source), "predicate", "key"),
	} {
		if a := f.do(token, http.MethodPost, "/v1/facts", body, http.StatusCreated); get[string](a, "decision") == "promoted" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	f.do(token, http.MethodPost, "/v1/facts", with(proposal("maria", "city", "Bonn", source), "traces", []string{"x"}), http.StatusBadRequest)
	tool := f.tokenOf(events.Caller{Tenant: "acme", Principal: "crawler", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustTool})
	for _, from := range []string{source, unknown} {
		a := f.do(tool, http.MethodPost, "/v1/facts", proposal("maria", "city", "Bonn", from), http.StatusCreated)
		f.settle()
		if gates := get[[]any](a, "gates"); get[string](a, "decision") != "review" || len(gates) != 1 {
			t.Errorf("a tool is told %s", a.body)
		}
		path := "/v1/facts/" + get[string](a, "candidate_id")
		f.do(tool, http.MethodGet, path, nil, http.StatusNotFound)
		f.do(token, http.MethodGet, path, nil, http.StatusOK)
	}
}
