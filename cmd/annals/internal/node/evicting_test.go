package node_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/bench"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// episode is the sealed content of an episode as a node's views have it.
func (f *fixture) episode(tenant, id string) seal.Item {
	f.t.Helper()
	s, err := f.Views().Snapshot(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // It was only read.
	row, err := s.Episode(tenant, id)
	if err != nil {
		f.t.Fatal(err)
	}
	return seal.Item{
		Scope:  seal.Scope{Tenant: row.Tenant, Subject: row.Subject, Class: row.Class},
		Label:  seal.Label{Aggregate: string(events.KindEpisode), Record: row.ID, EventType: row.ContentType},
		Sealed: row.Content,
	}
}

// Two nodes share a log. What is forgotten through one of them does not open
// with the keys of the other once its views have the tombstone, although it had
// them cached: sealed bytes that were taken before are dead there too.
func TestForgottenThroughAnotherNode(t *testing.T) {
	t.Parallel()
	server, err := natslog.StartServer(t.Context(), natslog.Options{
		Dir: t.TempDir(), Durability: natslog.DurabilityProcess, Listen: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	one := openWith(t, node.Options{NATS: server.URL(), Model: bench.StandIn{}})
	token := one.token("acme")
	gone, lost, kept := one.capture(token, "maria", "She likes plums."), one.capture(token, "pedro", "He rows."),
		one.capture(token, "ana", "She paints.")
	one.settle()

	two := &fixture{t: t, dir: t.TempDir(), options: node.Options{NATS: server.URL(), Model: bench.StandIn{}}}
	two.options.Data = two.dir
	root, err := os.ReadFile(filepath.Join(one.dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(two.dir, "root.key"), root, 0o600); err != nil {
		t.Fatal(err)
	}
	two.start()
	defer two.close()
	two.settle()
	tenant, err := two.Keys().Tenant(t.Context(), "acme", false)
	if err != nil {
		t.Fatal(err)
	}
	items := map[string]seal.Item{}
	for _, id := range []string{gone, lost, kept} {
		items[id] = two.episode(tenant.Token(), id)
	}
	open := func(id string) error {
		it := items[id]
		_, err := two.Keys().Open(t.Context(), it.Scope, it.Label, it.Sealed)
		return err
	}
	if err := errors.Join(open(gone), open(lost), open(kept)); err != nil {
		t.Fatal(err)
	}
	// Control: a key that ends without a tombstone is cached here still.
	if err := one.Keys().DestroyRecord(t.Context(), tenant.Token(), lost); err != nil {
		t.Fatal(err)
	}
	if err := open(lost); err != nil {
		t.Fatalf("control: nothing was cached: %v", err)
	}

	one.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted)
	one.do(token, http.MethodPost, "/v1/subjects/pedro/forget", obj{"reason": "asked"}, http.StatusAccepted)
	one.settle() // the keys are destroyed
	if err := two.Views().WaitFor(t.Context(), one.head()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{gone, lost} {
		if err := open(id); !errors.Is(err, seal.ErrKeyDestroyed) {
			t.Errorf("a forgotten one opens: %v", err)
		}
	}
	if err := open(kept); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	other, err := two.Keys().Tenant(t.Context(), "acme", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.FindSubject(t.Context(), "pedro"); !errors.Is(err, seal.ErrUnknownSubject) {
		t.Errorf("the name of a forgotten subject: %v", err)
	}
	if _, err := other.FindSubject(t.Context(), "ana"); err != nil {
		t.Errorf("the name of another: %v", err)
	}
}
