package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A key that is gone without a tombstone is damage, and is loud: it must not be
// taken for a forget.
func TestLostKeyIsNotAForget(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.LocalToken()
	lost := f.capture(token, "maria", "Its key will be lost.")
	kept := f.capture(token, "maria", "Its key will be kept.")
	gone := f.capture(token, "maria", "It will be forgotten.")
	f.settle()
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
	f.close() // a running node has the row cached for a while
	f.start()
	f.settle()
	a := f.do(token, http.MethodGet, "/v1/episodes/"+lost, nil, http.StatusInternalServerError)
	if got := get[string](a, "code"); got != "damaged" {
		t.Errorf("code %q: %s", got, a.body)
	}
	f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	f.do(token, http.MethodGet, "/v1/episodes/"+gone, nil, http.StatusGone)
}
