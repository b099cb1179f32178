package node_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

// until waits until something is so.
func (f *fixture) until(what string, is func() bool) {
	f.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			f.t.Fatalf("not %s", what)
		}
	}
}

// While the anchor cannot be written nothing is purged, there is no receipt, and
// the node says so. It goes on once it can be.
func TestNoPurgeWithoutAnchor(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	gone := plant(f, token, "maria", "xyzzymaria")
	ready := func() int { return f.call("", http.MethodGet, "/readyz", nil).status }
	state := func() string {
		return as[httpapi.LedgerStatus](f.do(token, http.MethodGet, "/v1/ledger", nil, http.StatusOK)).State
	}
	f.until("ready", func() bool { return ready() == http.StatusOK && state() == "healthy" })

	inTheWay := filepath.Join(f.dir, "anchor.tmp") // where an anchor is written before it takes its place
	f.until("in the way", func() bool { return os.Mkdir(inTheWay, 0o700) == nil })
	out := as[tombstones.Erasure](f.do(token, http.MethodDelete, "/v1/episodes/"+gone.episode, nil, http.StatusAccepted))
	var s tombstones.Status
	f.until("refused", func() bool {
		s = f.erasure(token, out.ErasureID)
		for _, store := range s.Stores {
			if store.Store == "log" && store.Failed > 0 {
				return true
			}
		}
		return false
	})
	if s.Level != events.LevelShredded {
		t.Errorf("it is %s", s.Level)
	}
	if got := f.positions(events.KindEpisode, gone.episode); len(got) < 2 {
		t.Errorf("it has left the log without an anchor: %v", got)
	}
	if a := f.call(token, http.MethodGet, "/v1/erasures/"+out.ErasureID+"/receipt", nil); a.status == http.StatusOK {
		t.Errorf("there is a receipt without an anchor: %s", a.body)
	}
	if ready() != http.StatusServiceUnavailable || state() != "unanchored" {
		t.Errorf("without an anchor: %d %s", ready(), state())
	}
	if err := f.Ledger().Checkpoint(t.Context()); err == nil {
		t.Error("a checkpoint without an anchor")
	}

	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	f.until("ready again", func() bool { return ready() == http.StatusOK && state() == "healthy" })
	f.reaches(token, out.ErasureID, events.LevelPurged)
	f.do(token, http.MethodGet, "/v1/erasures/"+out.ErasureID+"/receipt", nil, http.StatusOK)
	if got := f.positions(events.KindEpisode, gone.episode); len(got) != 1 { // the tombstone
		t.Errorf("control: it is left at %v", got)
	}
}
