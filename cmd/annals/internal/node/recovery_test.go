package node_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// TestDamageWhileItRuns deletes a message as somebody with access to the log
// would, and has the log compared. From then on nothing is served.
func TestDamageWhileItRuns(t *testing.T) {
	t.Parallel()
	f := openWith(t, node.Options{Durability: "process", Recover: true})
	id := f.capture(f.LocalToken(), "maria", "She lives in Porto.")
	f.settle()
	if err := f.Ledger().Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.do(f.LocalToken(), http.MethodGet, "/v1/ledger/proof/1", nil, http.StatusOK)
	f.do(f.LocalToken(), http.MethodGet, "/v1/ledger/proof/0", nil, http.StatusBadRequest)
	f.do(f.LocalToken(), http.MethodGet, "/v1/ledger/proof/x", nil, http.StatusBadRequest)
	f.do(f.LocalToken(), http.MethodGet, "/v1/ledger/proof/9999", nil, http.StatusNotFound)
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	a := f.do(f.LocalToken(), http.MethodGet, "/v1/ledger/checkpoint", nil, http.StatusOK)
	if _, err := ledger.OpenCheckpoint(public, a.body); err != nil {
		t.Errorf("%v: %s", err, a.body)
	}
	if a := f.compare(); get[string](a, "state") != "done" {
		t.Fatalf("a log that is as it was: %s", a.body)
	}
	js, err := jetstream.New(f.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 1); err != nil { // the plain way
		t.Fatal(err)
	}
	if a := f.compare(); get[string](a, "state") != "failed" || !strings.Contains(get[string](a, "error"), "at 1") {
		t.Fatalf("a log that has lost a message: %s", a.body)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range tick.C { // the operation is told of a moment before
		if f.Damage() != nil {
			break
		}
	}
	for _, path := range []string{"/v1/episodes/" + id, "/readyz", "/v1/ledger/proof/1"} {
		if a := f.do(f.LocalToken(), http.MethodGet, path, nil, http.StatusServiceUnavailable); get[string](a, "code") != "recovery" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	if a := f.do(f.LocalToken(), http.MethodGet, "/v1/ledger", nil, http.StatusOK); get[string](a, "damage") != string(ledger.KindLogHole) {
		t.Errorf("the ledger says %s", a.body)
	}
	f.do(f.LocalToken(), http.MethodPost, "/v1/episodes", obj{"subject": "a", "text": "b", "source": obj{"kind": "chat", "ref": "r"}}, http.StatusServiceUnavailable)
	f.do("", http.MethodGet, "/healthz", nil, http.StatusOK)
	f.close()
	// A command gets the error, a server starts in recovery mode.
	options := f.options
	options.Recover = false
	if n, err := node.Open(t.Context(), options); err == nil {
		t.Errorf("it opens: %v", n.Close())
	} else if d, is := ledger.AsDamage(err); !is || d.Kind != ledger.KindLogHole {
		t.Errorf("got %v", err)
	}
	f.start()
	f.do(f.LocalToken(), http.MethodGet, "/v1/episodes/"+id, nil, http.StatusServiceUnavailable)
}

// compare has the log compared with its ledger.
func (f *fixture) compare() answer {
	f.t.Helper()
	id := get[string](f.do(f.LocalToken(), http.MethodPost, "/v1/ledger/verify", nil, http.StatusAccepted), "id")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if a := f.do(f.LocalToken(), http.MethodGet, "/v1/operations/"+id, nil, http.StatusOK); get[string](a, "state") != "running" {
			return a
		}
	}
	return answer{}
}
