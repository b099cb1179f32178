package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events/seal"
)

// rootWorld is a tenant under a root file that can be opened again.
type rootWorld struct {
	*testing.T

	path  string
	rows  *seal.MemRows
	clock *clock
	items []seal.Item
}

func newRootWorld(t *testing.T) *rootWorld {
	t.Helper()
	w := &rootWorld{T: t, path: filepath.Join(t.TempDir(), "root.key"), rows: seal.NewMemRows(), clock: &clock{}}
	w.clock.pass(time.Hour)
	ring := w.ring(w.open(true))
	for i := range 3 {
		scope := mustTenant(t, ring, fmt.Sprintf("tenant-%d", i)).Scope(seal.Nobody, "procedures")
		w.items = append(w.items, put(t, ring, scope, "r1", "text"))
	}
	return w
}

func (w *rootWorld) open(create bool) *seal.FileRoot {
	w.Helper()
	root, err := seal.OpenFileRoot(w.path, seal.FileRootOptions{Create: create, Now: w.clock.now})
	if err != nil {
		w.Fatal(err)
	}
	return root
}

func (w *rootWorld) ring(root seal.Root) *seal.Keyring {
	w.Helper()
	return newRing(w.T, w.rows, root, seal.Options{})
}

// keys are the lines of the root file that hold a key.
func (w *rootWorld) keys() []string {
	w.Helper()
	data, err := os.ReadFile(w.path)
	if err != nil {
		w.Fatal(err)
	}
	var keys []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); fields[0] == "current" || fields[0] == "former" {
			keys = append(keys, fields[len(fields)-1])
		}
	}
	return keys
}

// wantAll opens everything with a process that starts now.
func (w *rootWorld) wantAll() {
	w.Helper()
	ring := w.ring(w.open(false))
	for _, it := range w.items {
		wantOpen(w.T, ring, it, "text")
	}
}

// wantAlone checks that the root file has one key and is the only file.
func (w *rootWorld) wantAlone(dead string) {
	w.Helper()
	if keys := w.keys(); len(keys) != 1 || keys[0] == dead {
		w.Fatalf("the root file has %d keys, or the one that was destroyed", len(keys))
	}
	entries, err := os.ReadDir(filepath.Dir(w.path))
	if err != nil || len(entries) != 1 {
		w.Fatalf("%d files, %v, want the root alone", len(entries), err)
	}
}

func TestRootRotatesItself(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	root := w.open(false)
	ring := w.ring(root)
	for _, it := range w.items {
		wantOpen(t, ring, it, "text")
	}
	begun := root.Epochs()
	if begun.Current.Number != 1 || !begun.Current.Created.Equal(w.clock.now()) || begun.Former != nil || !begun.DeadBefore().IsZero() {
		t.Fatalf("a new root: %+v", begun)
	}
	backup := snapshot(t, w.rows)
	oldKey, second := w.keys()[0], w.path+".copy"
	// Another name of the file stands for what reads its bytes later.
	if err := os.Link(w.path, second); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(time.Hour)
	created := w.clock.now()
	for range 2 {
		if err := ring.RotateRoot(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantAll()
	}
	want := seal.RootEpochs{
		Current: seal.RootEpoch{Number: 2, ID: root.ID(), Created: created}, Former: &begun.Current,
	}
	for _, got := range []seal.RootEpochs{ring.RootEpochs(), w.open(false).Epochs()} {
		if diff := cmp.Diff(want, got); diff != "" || !got.DeadBefore().IsZero() {
			t.Fatalf("between the steps (-want +got):\n%s", diff)
		}
	}
	if len(w.keys()) != 2 || root.ID() == begun.Current.ID {
		t.Fatal("the root has no new epoch")
	}
	w.clock.pass(time.Hour)
	for range 2 {
		if err := ring.FinishRoot(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantAll()
		w.clock.pass(time.Hour)
	}
	want.Former, want.Destroyed = nil, created.Add(time.Hour)
	for _, got := range []seal.RootEpochs{ring.RootEpochs(), w.open(false).Epochs()} {
		if diff := cmp.Diff(want, got); diff != "" || !got.DeadBefore().Equal(created) {
			t.Fatalf("after the end (-want +got):\n%s", diff)
		}
	}
	if data, err := os.ReadFile(second); err != nil || len(bytes.Trim(data, "\x00")) != 0 {
		t.Fatalf("the former file was not overwritten, %v", err)
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	w.wantAlone(oldKey)
	for _, it := range w.items {
		wantOpen(t, ring, it, "text")
		stale := newRing(t, backup, w.open(false), seal.Options{})
		if _, err := stale.Open(t.Context(), it.Scope, it.Label, it.Sealed); !errors.Is(err, seal.ErrOtherRoot) {
			t.Fatalf("a copy from before: %v, want ErrOtherRoot", err)
		}
	}
}

// TestRootRotationCrashes ends the process at every write of the file and of the
// rows. Nothing is lost, and the next run finishes.
func TestRootRotationCrashes(t *testing.T) {
	t.Parallel()
	crashed := 0
	for inRows := range 2 {
		for k := range 20 {
			w := newRootWorld(t)
			oldKey, root := w.keys()[0], w.open(false)
			rows := &failWrite{Rows: w.rows}
			rows.left.Store(100)
			if inRows == 1 {
				rows.left.Store(int64(k))
			} else {
				root.CrashAfter(k, errBroken)
			}
			ring := newRing(t, rows, root, seal.Options{})
			err := ring.RotateRoot(t.Context())
			if err == nil {
				err = ring.FinishRoot(t.Context())
			}
			if err != nil {
				crashed++
			}
			if err != nil && !errors.Is(err, errBroken) {
				t.Fatalf("stopped at write %d: %v", k, err)
			}
			w.wantAll()
			// The process that failed may go on as well.
			for _, it := range w.items {
				wantOpen(t, newRing(t, w.rows, root, seal.Options{}), it, "text")
			}
			next := w.open(false)
			again := w.ring(next)
			if next.Epochs().Current.Number == 1 || next.Epochs().Former != nil {
				if err := again.RotateRoot(t.Context()); err != nil {
					t.Fatalf("taken up after write %d: %v", k, err)
				}
			}
			if err := again.FinishRoot(t.Context()); err != nil {
				t.Fatalf("finished after write %d: %v", k, err)
			}
			if n := next.Epochs().Current.Number; n != 2 {
				t.Fatalf("epoch %d after write %d, want 2", n, k)
			}
			w.wantAll()
			w.wantAlone(oldKey)
		}
	}
	if crashed < 15 {
		t.Fatalf("only %d runs were stopped", crashed)
	}
}

// TestRootRotationUnderLoad makes and opens tenants meanwhile.
func TestRootRotationUnderLoad(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	root := w.open(false)
	rings := []*seal.Keyring{w.ring(root), newRing(t, w.rows, root, seal.Options{CacheSize: -1})}
	made := make([][]seal.Item, 5)
	together(5, func(i int) {
		if i == 4 {
			for range 10 {
				// One keyring wraps under the root in this process.
				if err := errors.Join(rings[0].RotateRoot(t.Context()), rings[0].FinishRoot(t.Context())); err != nil {
					t.Errorf("rotate: %v", err)
				}
			}
			return
		}
		for j := range 10 {
			tenant, err := rings[0].Tenant(t.Context(), fmt.Sprintf("made-%d-%d", i, j), true)
			if err != nil {
				t.Errorf("make tenant: %v", err)
				return
			}
			scope := tenant.Scope(seal.Nobody, "procedures")
			rec, _, err := rings[0].CreateRecord(t.Context(), scope, "r1", nil)
			if err != nil {
				t.Errorf("create: %v", err)
				return
			}
			sealed, err := rec.Seal(label("r1"), []byte("text"))
			if err != nil {
				t.Errorf("seal: %v", err)
			}
			made[i] = append(made[i], seal.Item{Scope: scope, Label: label("r1"), Sealed: sealed})
			it := w.items[j%len(w.items)]
			if got, err := rings[j%2].Open(t.Context(), it.Scope, it.Label, it.Sealed); err != nil || string(got) != "text" {
				t.Errorf("open: %q, %v", got, err)
			}
		}
	})
	for _, items := range made {
		w.items = append(w.items, items...)
	}
	if n := root.Epochs().Current.Number; n != 11 {
		t.Fatalf("epoch %d after ten rotations", n)
	}
	w.wantAll()
}

// TestRootOfTheFirstVersion opens a file without epochs, and rotates it.
func TestRootOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	old := bytes.Repeat([]byte{7}, seal.KeySize)
	w.path, w.rows = filepath.Join(t.TempDir(), "root.key"), seal.NewMemRows()
	if err := os.WriteFile(w.path, seal.FormatRootV1(strings.Repeat("a", seal.TokenSize), old), 0o600); err != nil {
		t.Fatal(err)
	}
	root := w.open(false)
	want := seal.RootEpochs{Current: seal.RootEpoch{Number: 1, ID: strings.Repeat("a", seal.TokenSize)}}
	if diff := cmp.Diff(want, root.Epochs()); diff != "" {
		t.Fatalf("epochs (-want +got):\n%s", diff)
	}
	ring := w.ring(root)
	w.items = []seal.Item{put(t, ring, mustTenant(t, ring, "acme").Scope(seal.Nobody, "c"), "r1", "text")}
	if err := errors.Join(ring.RotateRoot(t.Context()), ring.FinishRoot(t.Context())); err != nil {
		t.Fatal(err)
	}
	w.wantAll()
	w.wantAlone(fmt.Sprintf("%x", old))
	if got := root.Epochs(); got.Current.Number != 2 || !got.DeadBefore().Equal(w.clock.now()) {
		t.Fatalf("epochs %+v", got)
	}
}

// TestRootFileChanged refuses to rotate what is not what was opened.
func TestRootFileChanged(t *testing.T) {
	t.Parallel()
	w := newRootWorld(t)
	root, other := w.open(false), w.open(false)
	if err := w.ring(other).RotateRoot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.ring(root).RotateRoot(t.Context()); !errors.Is(err, seal.ErrRootChanged) {
		t.Fatalf("rotated elsewhere: %v, want ErrRootChanged", err)
	}
	if err := os.Remove(w.path); err != nil {
		t.Fatal(err)
	}
	var file *seal.RootFileError
	if err := w.ring(other).FinishRoot(t.Context()); !errors.As(err, &file) {
		t.Fatalf("taken away: %v, want a RootFileError", err)
	}
	// A row of a root that is not known keeps the former epoch alive.
	w = newRootWorld(t)
	stranger := newRing(t, w.rows, newRoot(t), seal.Options{})
	row, err := w.rows.Get(t.Context(), "names")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.rows.Destroy(t.Context(), "names"); err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Tenant(t.Context(), "acme", true); err == nil {
		t.Fatal("a stranger made a tenant among tenants without an instance key")
	}
	row.Value = bytes.Replace(row.Value, []byte(w.open(false).ID()), []byte(strings.Repeat("z", seal.TokenSize)), 1)
	if err := w.rows.Create(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	ring := w.ring(w.open(false))
	if err := ring.RotateRoot(t.Context()); !errors.Is(err, seal.ErrOtherRoot) {
		t.Fatalf("rotate over a stranger's row: %v, want ErrOtherRoot", err)
	}
	if err := ring.FinishRoot(t.Context()); !errors.Is(err, seal.ErrOtherRoot) || len(w.keys()) != 2 {
		t.Fatalf("finish over a stranger's row: %v, %d keys, want ErrOtherRoot and 2", err, len(w.keys()))
	}
}
