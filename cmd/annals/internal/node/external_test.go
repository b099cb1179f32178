package node_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events/natslog"
)

// The same memory on a NATS server that runs elsewhere: it outlives the node,
// whose views are built again from it.
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
	f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted)
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
}
