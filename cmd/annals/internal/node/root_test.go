package node_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
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
			withRows(t, f.dir, func(rows seal.Rows) error {
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

// The root key of another directory opens nothing, and is refused at the start.
func TestForeignRootKey(t *testing.T) {
	t.Parallel()
	f, other := open(t), open(t)
	for _, each := range []*fixture{f, other} {
		each.capture(each.token("acme", events.RoleAgent), "maria", "Maria plays the cello.")
		each.close()
	}
	root := filepath.Join(f.dir, "root.key")
	own, err := os.ReadFile(root)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(filepath.Join(other.dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, recovers := range []bool{false, true} {
		if err := os.WriteFile(root, foreign, 0o600); err != nil {
			t.Fatal(err)
		}
		o := node.Options{Data: f.dir, Durability: "process", Recover: recovers}
		n, err := node.Open(context.Background(), o)
		if !errors.Is(err, seal.ErrOtherRoot) || !strings.Contains(err.Error(), "the root key does not open the keys") {
			t.Errorf("opened: %v", err)
		}
		if err == nil {
			_ = n.Close() // the test has failed
		}
		if err := os.WriteFile(root, own, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err = node.Open(context.Background(), o); err != nil {
			t.Fatalf("control: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}

// withRows opens the key rows of a node that is closed, as the node does.
func withRows(t *testing.T, data string, do func(seal.Rows) error) {
	t.Helper()
	srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: filepath.Join(data, "log"), Durability: natslog.DurabilityProcess})
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
	l, err := ledger.Open(t.Context(), ledger.Config{
		Log: streams.Log(), Keys: streams.Keys(), Store: streams.Ledger(), Dir: data, Rand: rand.Reader,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = do(streams.Keys().Journaled(l))
	nc.Close()
	if err := errors.Join(err, srv.Close()); err != nil {
		t.Fatal(err)
	}
}
