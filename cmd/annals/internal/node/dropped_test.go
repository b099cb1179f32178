package node_test

import (
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
)

// What waits in quarantine, or was dropped there, is not there for an agent that asks to
// forget it. An admin's call gives it a tombstone that every view can fold.
func TestForgetOfDropped(t *testing.T) {
	t.Parallel()
	f := open(t)
	external := f.tokenOf(events.Caller{Tenant: "acme", Principal: "mail", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustExternal})
	agent, rita := f.token("acme", events.RoleAgent), f.asReviewer(external)
	kept := f.capture(agent, "maria", "She lives in Porto.")
	path := "/v1/episodes/" + get[string](f.do(external, http.MethodPost, "/v1/episodes",
		obj{"subject": "maria", "text": "A mail.", "source": obj{"kind": "mail", "ref": "m"}}, http.StatusCreated), "id")
	f.settle()
	f.do(agent, http.MethodDelete, path, nil, http.StatusNotFound)
	review := "/v1/reviews/" + path[len("/v1/episodes/"):]
	hash := get[string](f.do(rita, http.MethodGet, review, nil, http.StatusOK), "content_hash")
	f.do(rita, http.MethodPost, review+"/reject", obj{"content_hash": hash}, http.StatusOK)
	f.settle()
	head := f.head()
	f.do(agent, http.MethodDelete, path, nil, http.StatusNotFound)
	if got := f.head(); got != head {
		t.Errorf("the log is at %d after what is not there, want %d", got, head)
	}
	f.do(f.token("acme", events.RoleAdmin), http.MethodDelete, path, nil, http.StatusAccepted)
	f.settle()
	if n := f.parked(); n != 0 {
		t.Errorf("%d parked", n)
	}
	for _, view := range []string{"facts", "memories", "traces"} {
		if a := f.operate(view, "verify"); get[string](a, "state") != "done" {
			t.Errorf("verify: %s", a.body)
		}
	}
	f.do(agent, http.MethodDelete, "/v1/episodes/"+kept, nil, http.StatusAccepted)
}

func (f *fixture) parked() (n uint64) {
	for _, s := range f.Views().Status(f.t.Context()) {
		n += s.Parked
	}
	return n
}
