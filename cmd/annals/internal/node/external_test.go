package node_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// The same memory on a NATS server that runs elsewhere: it outlives the node, whose
// views are built again from it. A receipt names what such a server may keep. While it
// does not answer the node is not ready.
func TestExternalLog(t *testing.T) {
	t.Parallel()
	server, err := natslog.StartServer(t.Context(), natslog.Options{
		Dir: t.TempDir(), Durability: natslog.DurabilityProcess, Listen: "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	f := openWith(t, node.Options{NATS: server.URL()})
	token := f.token("acme")
	kept := f.capture(token, "maria", "She lives in Porto.")
	gone := f.capture(token, "maria", "She likes plums.")
	f.settle()
	out := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted))
	f.reaches(token, out.ErasureID, events.LevelPurged)
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tombstones.VerifyReceipt(f.do(token, http.MethodGet, "/v1/erasures/"+out.ErasureID+"/receipt", nil, http.StatusOK).body, public)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for _, s := range r.Residues {
		named[s.Kind] = s.Why
	}
	if named["server_encryption"] == "" || named["server_killed"] == "" || named["replicas"] != "" {
		t.Errorf("residues %+v", r.Residues)
	}
	f.close()
	if _, err := os.Stat(filepath.Join(f.dir, "log")); !os.IsNotExist(err) {
		t.Errorf("a log was made inside: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(f.dir, "views")); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.settle()
	f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	f.do(token, http.MethodGet, "/v1/episodes/"+gone, nil, http.StatusGone)
	f.do("", http.MethodGet, "/readyz", nil, http.StatusOK)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	if a := f.do("", http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable); get[string](a, "code") != "log_unavailable" {
		t.Errorf("without its log: %s", a.body)
	}
}
