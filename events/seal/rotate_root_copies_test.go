package seal_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/seal"
)

// TestRootRotationEndsCopies puts rows of a backup back beside the keys of today.
// What was destroyed since must not open: the key of the tenant, which was in the
// backup under the former root, must not be the one that is in use.
func TestRootRotationEndsCopies(t *testing.T) {
	t.Parallel()
	rotations := map[string]func(*rootWorld, *seal.Keyring) error{
		"in one go": func(_ *rootWorld, ring *seal.Keyring) error { return ring.RotateRoot(t.Context()) },
		"cut off": func(w *rootWorld, _ *seal.Keyring) error {
			rows := &failWrite{Rows: w.rows} // takes none
			if err := newRing(t, rows, w.open(false), seal.Options{}).RotateRoot(t.Context()); !errors.Is(err, errBroken) {
				return fmt.Errorf("rows that take nothing: %w", err)
			}
			return nil
		},
	}
	for name, rotate := range rotations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testCopies(t, rotate)
		})
	}
}

func testCopies(t *testing.T, rotate func(*rootWorld, *seal.Keyring) error) {
	t.Helper()
	w := newRootWorld(t)
	ring := w.ring(w.open(false))
	gone := w.items[1]
	backup := snapshot(t, w.rows)
	if err := ring.DestroySubject(t.Context(), gone.Scope.Tenant, gone.Scope.Subject); err != nil {
		t.Fatal(err)
	}
	putBack := func(want bool) {
		t.Helper()
		rows := snapshot(t, w.rows)
		for _, prefix := range []string{"k2." + gone.Scope.Tenant, "k3." + gone.Scope.Tenant} {
			for row, err := range backup.List(t.Context(), prefix) {
				if err != nil {
					t.Fatal(err)
				}
				if err := rows.Destroy(t.Context(), row.Key); err != nil {
					t.Fatal(err)
				}
				if err := rows.Create(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, err := newRing(t, rows, w.open(false), seal.Options{}).Open(t.Context(), gone.Scope, gone.Label, gone.Sealed)
		if (err == nil) != want {
			t.Fatalf("rows of a backup: opened %v, want %v: %v", err == nil, want, err)
		}
	}
	putBack(true)
	w.clock.pass(time.Hour)
	if err := rotate(w, ring); err != nil {
		t.Fatal(err)
	}
	ring = w.ring(w.open(false))
	if err := ring.FinishRoot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !ring.RootEpochs().DeadBefore().Equal(w.clock.now()) {
		t.Fatal("the copies are not said to be dead")
	}
	putBack(false)
	w.items = append(w.items[:1], w.items[2:]...)
	w.wantAll()
}
