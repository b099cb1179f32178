package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// A log that has lost its key rows gets no new root key: that would open
// nothing, and the old one could not be put back. An empty log gets one.
func TestNoNewRootKeyBesideALog(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{"a log": seal.ErrRootMissing, "an empty log": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			if want != nil {
				token := f.token("acme", events.RoleAgent)
				f.capture(token, "maria", "Maria plays the cello.")
			}
			f.close()
			withRows(t, filepath.Join(f.dir, "log"), func(rows seal.Rows) error {
				return rows.Destroy(t.Context(), "names")
			})
			if err := os.Remove(filepath.Join(f.dir, "root.key")); err != nil {
				t.Fatal(err)
			}
			n, err := node.Open(context.Background(), node.Options{Data: f.dir, Durability: "process"})
			if !errors.Is(err, want) {
				t.Errorf("opened: %v", err)
			}
			if err == nil {
				if err := n.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// withRows opens the key rows of a node that is closed.
func withRows(t *testing.T, dir string, do func(seal.Rows) error) {
	t.Helper()
	srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir, Durability: natslog.DurabilityProcess})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := srv.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	streams, err := natslog.Open(t.Context(), nc, natslog.Config{CreateStreams: true})
	if err != nil {
		t.Fatal(err)
	}
	err = do(streams.Keys())
	nc.Close()
	if err := errors.Join(err, srv.Close()); err != nil {
		t.Fatal(err)
	}
}
