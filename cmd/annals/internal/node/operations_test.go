package node_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// operate runs long work to its end and returns its last state.
func (f *fixture) operate(name, kind string) answer {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	id := get[string](f.do(f.LocalToken(), http.MethodPost, "/v1/projections/"+name+"/"+kind, nil, http.StatusAccepted), "id")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		a := f.do(f.LocalToken(), http.MethodGet, "/v1/operations/"+id, nil, http.StatusOK)
		if get[string](a, "state") != "running" {
			return a
		}
		select {
		case <-ctx.Done():
			f.t.Fatalf("%s of %s does not end: %s", kind, name, a.body)
		case <-tick.C:
		}
	}
}

// TestRetryOfParked holds that what no view can fold is parked, stops nothing else and makes the node not ready, and that
// a retry by command ends that when it can be ended.
func TestRetryOfParked(t *testing.T) {
	t.Parallel()
	f := open(t)
	id := f.capture(f.LocalToken(), "maria", "before")
	f.settle()
	f.do("", http.MethodGet, "/readyz", nil, http.StatusOK)
	js, err := jetstream.New(f.Conn())
	if err != nil {
		t.Fatal(err)
	}
	subject := events.Aggregate{Tenant: "t0", Kind: events.KindEpisode, ID: "e0"}.Subject()
	ack, err := js.Publish(t.Context(), subject, []byte("no commit"))
	if err != nil {
		t.Fatal(err)
	}
	after := f.capture(f.LocalToken(), "maria", "after")
	f.settle()
	for _, id := range []string{id, after} {
		f.do(f.LocalToken(), http.MethodGet, "/v1/episodes/"+id, nil, http.StatusOK)
	}
	f.do("", http.MethodGet, "/readyz", nil, http.StatusOK) // it takes no node out of service
	for _, name := range []string{"facts", "memories", "traces"} {
		if a := f.operate(name, "retry"); get[string](a, "state") != "failed" || get[float64](a, "parked") != 1 {
			t.Errorf("%s: retry of what is no commit: %s", name, a.body)
		}
		a := f.operate(name, "verify")
		if get[string](a, "state") != "failed" || get[float64](a, "parked") != 1 || get[string](a, "old_digest") != get[string](a, "new_digest") {
			t.Errorf("%s: verify with what is no commit: %s", name, a.body)
		}
	}
	if err := f.Ledger().Checkpoint(t.Context()); err != nil { // what is erased below was there
		t.Fatal(err)
	}
	erased := ledger.Erased{Tenant: "t0", Erasure: "x", Positions: []uint64{ack.Sequence}}
	if err := f.Ledger().Erased(t.Context(), erased); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), ack.Stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SecureDeleteMsg(t.Context(), ack.Sequence); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"facts", "memories", "traces"} {
		if a := f.operate(name, "retry"); get[string](a, "state") != "done" || get[float64](a, "folded") != 1 {
			t.Errorf("%s: retry of what is gone: %s", name, a.body)
		}
	}
	f.do("", http.MethodGet, "/readyz", nil, http.StatusOK)
}
