//go:build !race

package node_test

import (
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones"
)

// A rotation of everything above what was forgotten, its subject, its tenant and the
// root, that fails at any write there is, and at every write after it, leaves what is
// kept readable and what was forgotten not, after a restart at once. The same call
// ends it: then what was forgotten opens with no mixture of rows from before, the
// former keys of tenant and root are gone, and the erasure is dead in backups.
func TestRotationCutOffAtEachWrite(t *testing.T) {
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
	d := startDoor(t, server.URL())
	f := openWith(t, node.Options{NATS: d.url()})
	f.ForgetGrace()
	token := f.token("acme")
	kept := plant(f, token, "maria", "plughmaria") // of the subject that loses a record
	other := plant(f, token, "jonas", "plughjonas")
	rotate := func() answer {
		return f.call(f.LocalToken(), http.MethodPost, "/v1/keys/rotate", []byte(`{"alone":true}`))
	}
	readable := func(when string, gone planted) {
		t.Helper()
		for _, p := range []planted{kept, other} {
			for _, path := range []string{"/v1/episodes/" + p.episode, "/v1/facts/" + p.fact} {
				if a := f.call(token, http.MethodGet, path, nil); a.status != http.StatusOK {
					t.Errorf("%s: what is kept: %s: %d %s", when, path, a.status, a.body)
				}
			}
		}
		for _, path := range []string{"/v1/episodes/" + gone.episode, "/v1/facts/" + gone.fact} {
			if a := f.call(token, http.MethodGet, path, nil); a.status != http.StatusGone && a.status != http.StatusNotFound {
				t.Errorf("%s: what was forgotten: %s: %d", when, path, a.status)
			}
		}
	}
	step := 3 * *cuts // of a hundred writes or more
	refused, cut := true, 0
	for n := 0; refused; n += step {
		if n > 1_000 {
			t.Fatal("a rotation has no end")
		}
		when := fmt.Sprintf("cut off after %d writes", n)
		gone := plant(f, token, "maria", "xyzzy"+strconv.Itoa(n)+"q")
		f.settle()
		sealedGone, sealedKept, former := f.sealed(gone.episode), f.sealed(kept.episode), f.rows()
		if !f.opensWith(former, gone.episode, sealedGone) || !f.opensAlone(former) {
			t.Errorf("%s: control: the copy opens nothing", when)
		}
		out := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+gone.episode, nil, http.StatusAccepted))
		f.reaches(token, out.ErasureID, events.LevelPurged)
		d.after(n)
		if a := rotate(); a.status != http.StatusOK && !d.refused() {
			t.Errorf("%s: it fails by itself: %s", when, a.body)
		}
		if err := f.stop(); err != nil {
			t.Logf("%s: %v", when, err)
		}
		_ = f.Close() // its last checkpoint is a write, too
		f.Node = nil
		if refused = d.open(); refused {
			cut++
		}
		f.start()
		f.ForgetGrace()
		f.settle()
		readable(when, gone)
		if a := rotate(); a.status != http.StatusOK {
			t.Fatalf("%s: again: %d %s", when, a.status, a.body)
		}
		readable(when+", ended", gone)
		f.reaches(token, out.ErasureID, events.LevelBackupsDead)
		if e := f.Keys().RootEpochs(); e.Former != nil || f.opensAlone(former) {
			t.Errorf("%s: the former parents are left: %+v", when, e)
		}
		if f.opensWith(former, gone.episode, sealedGone) {
			t.Errorf("%s: the copy opens what was forgotten", when)
		}
		if !f.opensWith(former, kept.episode, sealedKept) {
			t.Errorf("%s: control: nothing opens what is kept", when)
		}
	}
	if t.Logf("it was cut off %d times", cut); cut < 2 {
		t.Errorf("control: it was cut off %d times", cut)
	}
	f.close()
	f.start()
	f.settle()
	f.replaysAlike()
	if err := f.Ledger().Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// opensAlone says whether the root that there is opens a tenant's key in a copy of
// the rows.
func (f *fixture) opensAlone(rows map[string]seal.Row) bool {
	f.t.Helper()
	root, err := seal.OpenFileRoot(filepath.Join(f.dir, "root.key"), seal.FileRootOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	ring, err := seal.New(fixedRows{rows: maps.Clone(rows)}, root, seal.Options{Now: time.Now})
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = ring.Tenant(f.t.Context(), "acme", false)
	return err == nil
}
