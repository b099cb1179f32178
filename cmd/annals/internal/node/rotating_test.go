package node_test

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// A rotation through the door gives a new epoch, destroys the one before, and
// leaves everything readable, across a restart too.
func TestRotateRoot(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme", events.RoleAgent)
	id := f.capture(token, "maria", "Maria plays the cello.")
	f.settle()
	read := func() {
		t.Helper()
		if a := f.do(token, http.MethodGet, "/v1/episodes/"+id, nil, http.StatusOK); !strings.Contains(string(a.body), "cello") {
			t.Fatalf("read %s", a.body)
		}
	}
	read()
	began := f.Keys().RootEpochs()
	if began.Current.Number != 1 || time.Since(began.Current.Created) > time.Hour {
		t.Fatalf("a new memory has epoch %+v", began)
	}
	f.do(f.token("acme", events.RoleAdmin), http.MethodPost, "/v1/keys/rotate", obj{}, http.StatusForbidden)
	if diff := cmp.Diff(began, f.Keys().RootEpochs()); diff != "" {
		t.Fatalf("a refused rotation changed the root:\n%s", diff)
	}
	for n := uint64(1); n <= 2; n++ {
		before := f.Keys().RootEpochs().Current
		var out httpapi.RootRotation
		a := f.do(f.LocalToken(), http.MethodPost, "/v1/keys/rotate", obj{}, http.StatusOK)
		if err := json.Unmarshal(a.body, &out); err != nil {
			t.Fatal(err)
		}
		e := f.Keys().RootEpochs()
		if out.Old != httpapi.EpochOf(before) || out.New != httpapi.EpochOf(e.Current) || out.New.Number != n+1 ||
			!e.DeadBefore().Equal(out.New.Created) || e.DeadBefore().IsZero() || !out.Destroyed.Equal(e.Destroyed) {
			t.Fatalf("rotation %d: %+v, the root has %+v", n, out, e)
		}
		read()
	}
	ended := f.Keys().RootEpochs()
	f.close()
	f.start()
	if diff := cmp.Diff(ended, f.Keys().RootEpochs()); diff != "" {
		t.Fatalf("after a restart:\n%s", diff)
	}
	f.settle()
	read()
}

// A rotation that was interrupted is finished by the next run of the node.
func TestInterruptedRootRotation(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme", events.RoleAgent)
	f.capture(token, "maria", "Maria plays the cello.")
	f.settle()
	f.close()
	withRows(t, f.dir, func(rows seal.Rows) error {
		root, err := seal.OpenFileRoot(filepath.Join(f.dir, "root.key"), seal.FileRootOptions{Now: time.Now})
		if err != nil {
			return err
		}
		ring, err := seal.New(rows, root, seal.Options{Now: time.Now})
		return errors.Join(err, ring.RotateRoot(t.Context()))
	})
	n, err := node.Open(t.Context(), f.options)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan uint64, 1)
	n.OnRootDestroyed(func(epoch uint64, _ time.Time) { ended <- epoch })
	f.Node, f.stop = n, n.Start(t.Context())
	if got := <-ended; got != 1 || n.Keys().RootEpochs().Former != nil {
		t.Fatalf("epoch %d was destroyed, of %+v", got, n.Keys().RootEpochs())
	}
}

// brokenRing fails some rotations.
type brokenRing struct {
	*seal.Keyring

	failures atomic.Int64
}

func (b *brokenRing) RotateRoot(ctx context.Context) error {
	if b.failures.Add(-1) >= 0 {
		return errBrokenRing
	}
	return b.Keyring.RotateRoot(ctx)
}

var errBrokenRing = errors.New("store is down")

// The schedule goes by the age of the key, and a failure is tried again.
func TestRootRotationSchedule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		root, err := seal.OpenFileRoot(filepath.Join(dir, "root.key"), seal.FileRootOptions{Create: true, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		keys, err := seal.New(seal.NewMemRows(), root, seal.Options{Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Tenant(t.Context(), "acme", true); err != nil {
			t.Fatal(err)
		}
		const month = 720 * time.Hour
		began, ring := time.Now(), &brokenRing{Keyring: keys}
		told := make(chan uint64, 10)
		tell := func(epoch uint64, _ time.Time) { told <- epoch }
		stop := node.RunRotator(t.Context(), ring, month, nil, tell)
		wait := func(d time.Duration, want ...uint64) {
			t.Helper()
			pass(d)
			synctest.Wait()
			var got []uint64
			for len(told) > 0 {
				got = append(got, <-told)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("destroyed after %v (-want +got):\n%s", time.Since(began), diff)
			}
		}
		wait(month - time.Second)
		wait(time.Second, 1)
		if e := keys.RootEpochs(); !e.Current.Created.Equal(began.Add(month)) || !e.DeadBefore().Equal(e.Current.Created) {
			t.Fatalf("epochs %+v", e)
		}
		wait(month - time.Second)
		ring.failures.Store(3)
		wait(time.Second + 2*time.Minute)
		wait(time.Minute, 2)
		stop()
		// Without a schedule the last one is told of again, and nothing else happens.
		stop = node.RunRotator(t.Context(), ring, 0, nil, tell)
		wait(2*month, 2)
		stop()
		// What comes before a rotation may wait for long, and a stop does not wait for it.
		preparing := make(chan struct{})
		stop = node.RunRotator(t.Context(), ring, month, func(ctx context.Context) error {
			close(preparing)
			<-ctx.Done()
			return ctx.Err()
		}, tell)
		<-preparing
		before := time.Now()
		stop()
		if waited := time.Since(before); waited != 0 {
			t.Errorf("a stop waited %v for what prepares a rotation", waited)
		}
	})
}
