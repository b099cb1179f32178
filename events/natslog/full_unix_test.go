//go:build unix

package natslog_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
)

// fullDir makes the test the process on a full disk, in a directory of its own: the
// limit holds for all files of a process.
const fullDir = "ANNALS_TEST_FULL_DIR"

// A disk that takes no more ends writes, each with an error that says so, and the
// server is not healthy from then on. Reads go on. After a start with room again,
// everything that was acknowledged is there, and writes go on.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv(fullDir); dir != "" {
		onFullDisk(t, dir)
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestFullDisk$", "-test.v")
	child.Env = append(os.Environ(), fullDir+"="+t.TempDir())
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func onFullDisk(t *testing.T, dir string) {
	t.Helper()
	ctx := t.Context()
	srv, nc := mustStart(t, natslog.Options{Dir: dir, Durability: natslog.DurabilityPower})
	streams := mustOpen(t, nc, natslog.Config{Server: srv, Timeout: time.Second})
	patient := mustOpen(t, nc, natslog.Config{Server: srv, Timeout: 24 * time.Hour})
	acked := map[string]uint64{}
	capture := func(log *natslog.Log) error {
		id := fmt.Sprintf("e-%d", len(acked))
		ack, err := log.Append(ctx, logtest.Episode("acme", id, 300), events.ExpectNew)
		if err == nil {
			acked[id] = ack.Position
		}
		return err
	}
	for range 20 {
		if err := capture(streams.Log()); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.Health(); err != nil {
		t.Errorf("control: before, it is not healthy: %v", err)
	}
	block, err := os.Stat(filepath.Join(dir, "jetstream", "$G", "streams", "EVENTS", "msgs", "1.blk"))
	if err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limit := was
	limit.Cur = uint64(block.Size()) + 100 // which is less than a message
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	notWritable := func(what string, err error) {
		t.Helper()
		failed, is := errors.AsType[*natslog.WriteError](err)
		if !is || failed.Stream != "EVENTS" || !errors.Is(err, syscall.EFBIG) ||
			!errors.Is(err, events.ErrNotWritable) || !errors.Is(err, events.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	notWritable("the write that finds the disk full", capture(streams.Log()))
	notWritable("its health", srv.Health())
	notWritable("a write after it, which waits for no answer", capture(patient.Log()))
	_, err = patient.Log().AppendBatch(ctx, []events.Pending{
		{Commit: logtest.Episode("acme", "b-0", 300), Expect: events.ExpectNew},
		{Commit: logtest.Episode("acme", "b-1", 300), Expect: events.ExpectNew},
	})
	notWritable("a batch", err)
	all := func(log *natslog.Log) {
		t.Helper()
		for id, at := range acked {
			if m, err := log.MessageAt(ctx, at); err != nil || m.Header.ID != "c-"+id {
				t.Errorf("what was acknowledged at %d: %v", at, err)
			}
		}
	}
	all(streams.Log())
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	notWritable("a write when there is room, before another start", capture(patient.Log()))
	nc.Close()
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	again, nc := mustStart(t, natslog.Options{Dir: dir, Durability: natslog.DurabilityPower})
	log := mustOpen(t, nc, natslog.Config{Server: again}).Log()
	all(log)
	if err := errors.Join(capture(log), again.Health()); err != nil {
		t.Errorf("after another start: %v", err)
	}
	all(log)
	if len(acked) != 21 {
		t.Errorf("%d were acknowledged", len(acked))
	}
}
