package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// A key that is gone without a tombstone is damage, and is loud: it must not be
// taken for a forget. A running node says so where it is read, and takes no backup
// of what is left; the next start serves nothing.
func TestLostKeyIsNotAForget(t *testing.T) {
	t.Parallel()
	f := openWith(t, node.Options{Durability: "process", Recover: true})
	token := f.token("acme")
	lost := f.capture(token, "maria", "Its key will be lost.")
	kept := f.capture(token, "maria", "Its key will be kept.")
	gone := f.capture(token, "maria", "It will be forgotten.")
	f.settle()
	if err := f.Ledger().Checkpoint(t.Context()); err != nil { // it has been seen
		t.Fatal(err)
	}
	js, err := jetstream.New(f.Conn())
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "KEYS")
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter("annals-keys.k3.>"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for subject := range info.State.Subjects {
		if !strings.HasSuffix(subject, "."+lost) {
			continue
		}
		m, err := stream.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SecureDeleteMsg(t.Context(), m.Sequence); err != nil {
			t.Fatal(err)
		}
		found = true
	}
	if !found {
		t.Fatal("the key row was not found")
	}
	f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted)
	f.settle()
	f.Keys().EvictRecord(f.tenant("acme"), lost) // a running node has the row cached for a while
	a := f.do(token, http.MethodGet, "/v1/episodes/"+lost, nil, http.StatusInternalServerError)
	if got := get[string](a, "code"); got != "damaged" {
		t.Errorf("code %q: %s", got, a.body)
	}
	f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	f.do(token, http.MethodGet, "/v1/episodes/"+gone, nil, http.StatusGone)

	f.do(f.LocalToken(), http.MethodGet, "/v1/backups/data", nil, http.StatusOK)
	if b := f.call(f.LocalToken(), http.MethodGet, "/v1/backups/keys", nil); b.status == http.StatusOK {
		t.Errorf("a backup of keys that are damaged: %d", b.status)
	}
	lostKeys := func() {
		t.Helper()
		if d := f.Damage(); d == nil || d.Kind != ledger.KindKeysLost || d.Missing != 1 {
			t.Errorf("damage %v", d)
		}
		a := f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusServiceUnavailable)
		if got := get[string](a, "code"); got != "recovery" {
			t.Errorf("code %q: %s", got, a.body)
		}
	}
	lostKeys()
	f.close()
	f.start()
	lostKeys()
}
