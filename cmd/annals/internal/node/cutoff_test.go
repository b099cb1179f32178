package node_test

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
	"github.com/annals-memory/annals/tombstones/scan"
)

var cuts = flag.Int("cuts", 8, "every how many of the writes of a forget it is cut off at; 1 is all")

// A forget that fails at any write there is, from its tombstone over the ends of its
// keys, its deletions and its receipt to the fresh key of its subject, and every
// write after it, is taken to its level by the next start on the same disk. With
// every other cut the views have lost what they wrote since before the forget, as a
// kill leaves them. Nothing of what was forgotten comes back, and its neighbours
// stay.
func TestForgetCutOffAtEachWrite(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	server, err := natslog.StartServer(t.Context(), natslog.Options{
		Dir: store, Durability: natslog.DurabilityProcess, Listen: "127.0.0.1:0",
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
	token := f.token("acme")
	kept := plant(f, token, "jonas", "plughjonas")
	tenant, err := f.Keys().Tenant(t.Context(), "acme", false)
	if err != nil {
		t.Fatal(err)
	}
	refused, cut := true, 0
	for n := 0; refused; n += *cuts {
		if n > 1_000 {
			t.Fatal("a forget has no end")
		}
		word := "xyzzy" + strconv.Itoa(n) + "q"
		gone := plant(f, token, "maria", word)
		whole := n/(*cuts)%3 == 2 // a subject, or a record of it
		path, method, body := "/v1/episodes/"+gone.episode, http.MethodDelete, any(nil)
		if whole {
			path, method, body = "/v1/subjects/maria/forget", http.MethodPost, obj{}
		}
		saved := f.saveViews(n/(*cuts)%2 == 1)
		d.after(n)
		out := f.tries(token, method, path, body)
		if out.ErasureID != "" {
			f.goesOn(token, out.ErasureID, d)
		}
		if err := f.stop(); err != nil {
			t.Logf("cut off after %d: %v", n, err)
		}
		_ = f.Close() // its last checkpoint is a write, too
		f.Node = nil
		if refused = d.open(); refused {
			cut++
		}
		saved()
		f.start()
		f.settle()
		again := as[tombstones.Erasure](f.do(token, method, path, body, http.StatusAccepted))
		when := fmt.Sprintf("cut off after %d writes", n)
		if !whole || again.Matched > 0 {
			if out.ErasureID != "" && again.ErasureID != out.ErasureID && !whole {
				t.Errorf("%s: another erasure", when)
			}
			f.purgedWith(token, again.ErasureID)
		}
		if out.ErasureID != "" {
			f.purgedWith(token, out.ErasureID)
		}
		for _, record := range []string{gone.episode, gone.fact} {
			_, err := f.Keys().Record(t.Context(), tenant.Token(), record)
			if !errors.Is(err, seal.ErrKeyDestroyed) {
				t.Errorf("%s: a key is left: %v", when, err)
			}
		}
		want := 1 // the tombstone
		if whole {
			want = 0
		}
		if got := f.positions(events.KindEpisode, gone.episode); len(got) != want {
			t.Errorf("%s: the episode is left at %v", when, got)
		}
		for _, path := range []string{"/v1/episodes/" + gone.episode, "/v1/facts/" + gone.fact} {
			if a := f.call(token, http.MethodGet, path, nil); a.status != http.StatusGone && a.status != http.StatusNotFound {
				t.Errorf("%s: %s: %d", when, path, a.status)
			}
		}
		for _, dir := range []string{store, f.dir} {
			if r := (&fixture{t: t, dir: dir}).scan(scan.Options{Words: []string{word}}); len(r.Hits) > 0 {
				t.Errorf("%s: the word is in %+v", when, r.Hits)
			}
		}
		if a := f.call(token, http.MethodGet, "/v1/facts/"+kept.fact, nil); a.status != http.StatusOK {
			t.Errorf("%s: control: a neighbour: %d %s", when, a.status, a.body)
		}
	}
	if t.Logf("it was cut off %d times", cut); cut < 10 / *cuts {
		t.Errorf("control: it was cut off %d times", cut)
	}
	f.settle()
	f.replaysAlike()
	if err := f.Ledger().Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// tries makes a forget that may fail, and returns the zero erasure if it does.
func (f *fixture) tries(token, method, path string, body any) (out tombstones.Erasure) {
	f.t.Helper()
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			f.t.Fatal(err)
		}
	}
	if a := f.call(token, method, path, b); a.status == http.StatusAccepted {
		return as[tombstones.Erasure](a)
	}
	return out
}

// goesOn waits until a write is refused, or none was up to the receipt.
func (f *fixture) goesOn(token, erasure string, d *door) {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !d.refused() {
		if a := f.call(token, http.MethodGet, "/v1/erasures/"+erasure+"/receipt", nil); a.status == http.StatusOK {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			f.t.Fatal("nothing is refused, and there is no receipt")
		}
	}
}

// purgedWith waits for a receipt that verifies.
func (f *fixture) purgedWith(token, erasure string) {
	f.t.Helper()
	f.reaches(token, erasure, events.LevelPurged)
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	a := f.do(token, http.MethodGet, "/v1/erasures/"+erasure+"/receipt", nil, http.StatusOK)
	if _, err := tombstones.VerifyReceipt(a.body, public); err != nil {
		f.t.Errorf("receipt: %v", err)
	}
}

// saveViews keeps a copy of the views, if it is wanted, and returns what puts it in
// their place.
func (f *fixture) saveViews(wanted bool) (restore func()) {
	f.t.Helper()
	if !wanted {
		return func() {}
	}
	views, kept := filepath.Join(f.dir, "views"), f.t.TempDir()
	f.close() // so that the copy is of one moment
	if err := os.CopyFS(kept, os.DirFS(views)); err != nil {
		f.t.Fatal(err)
	}
	f.start()
	f.settle()
	return func() {
		if err := os.RemoveAll(views); err != nil {
			f.t.Fatal(err)
		}
		if err := os.CopyFS(views, os.DirFS(kept)); err != nil {
			f.t.Fatal(err)
		}
	}
}
