package natslog_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
)

// The variables that turn the test binary into the process that is killed.
const (
	crashDir   = "ANNALS_TEST_CRASH_DIR"
	crashRound = "ANNALS_TEST_CRASH_ROUND"

	crashRounds  = 5
	acksPerRound = 300
)

// appendUntilKilled appends and prints the id and position of every
// acknowledged commit. It ends by being killed.
func appendUntilKilled(dir, round string) {
	ctx := context.Background()
	srv, err := natslog.StartServer(ctx, natslog.Options{Dir: dir, Durability: natslog.DurabilityProcess})
	if err != nil {
		panic(err)
	}
	nc, err := srv.Connect(ctx)
	if err != nil {
		panic(err)
	}
	streams, err := natslog.Open(ctx, nc, natslog.Config{CreateStreams: true})
	if err != nil {
		panic(err)
	}
	log := streams.Log()
	for i := 0; ; i++ {
		id := fmt.Sprintf("e-%s-%d", round, i)
		ack, err := log.Append(ctx, logtest.Episode("acme", id, 300), events.ExpectNew)
		if err != nil {
			panic(err)
		}
		if _, err := fmt.Fprintf(os.Stdout, "%s %d\n", id, ack.Position); err != nil {
			return
		}
	}
}

func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := map[string]uint64{}
	identity := ""
	for round := range crashRounds {
		killAfter(t, dir, round, acked)
		identity = verifyAfterKill(t, dir, acked, identity)
	}
	if len(acked) < crashRounds*acksPerRound {
		t.Fatalf("only %d commits were acknowledged", len(acked))
	}
}

func killAfter(t *testing.T, dir string, round int, acked map[string]uint64) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^$")
	child.Env = append(os.Environ(), crashDir+"="+dir, crashRound+"="+strconv.Itoa(round))
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines, read := bufio.NewScanner(out), 0
	for lines.Scan() {
		id, position, ok := strings.Cut(lines.Text(), " ")
		p, err := strconv.ParseUint(position, 10, 64)
		if !ok || err != nil {
			break // The last line may be cut off.
		}
		acked[id] = p
		if read++; read == acksPerRound+round*17 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || read < acksPerRound {
		t.Fatalf("the child ended with %v after %d acks", err, read)
	}
}

func verifyAfterKill(t *testing.T, dir string, acked map[string]uint64, identity string) string {
	t.Helper()
	srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	}()
	nc, err := srv.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	streams, err := natslog.Open(t.Context(), nc, natslog.Config{})
	if err != nil {
		t.Fatal(err)
	}
	log := streams.Log()
	for id, p := range acked {
		m, err := log.MessageAt(t.Context(), p)
		if err != nil || m.Header.ID != "c-"+id {
			t.Fatalf("an acknowledged commit is not at %d: %v", p, err)
		}
	}
	s, err := log.State(t.Context())
	if err != nil || (identity != "" && s.Identity != identity) {
		t.Fatalf("another identity after a crash: %v", err)
	}
	if s.Messages < uint64(len(acked)) {
		t.Fatalf("%d messages, %d were acknowledged", s.Messages, len(acked))
	}
	return s.Identity
}
