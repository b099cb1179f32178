package projectors

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestCloseOnFullDisk holds that views close on a disk that takes no more, and that nothing is lost by it: what could not be
// written is folded from the log again.
func TestCloseOnFullDisk(t *testing.T) {
	t.Parallel()
	w, mem := newWorld(t), vfs.NewMem()
	var full atomic.Bool
	cfg := w.config(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.ENOSPC
		}
		return nil
	})))
	v := openViews(t, cfg)
	w.capture(t, "acme", "anna", "text")
	for _, l := range v.lanes {
		foldOnly(t, w, l, 1)
	}
	was := digests(v)
	full.Store(true)
	if err := v.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close: %v", err)
	}
	full.Store(false)
	again := start(t, w.config(mem))
	defer again.close(t)
	again.waitFor(t, w.head)
	if got := digests(again.Views); got != was {
		t.Errorf("digests differ:\n%s%s", was, got)
	}
}
