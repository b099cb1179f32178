package ledger_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

const writerDir = "ANNALS_LEDGER_TEST_WRITER"

// writer writes and removes rows until it is killed, and says what was acknowledged.
func writer(dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), childTime)
	defer cancel()
	if err := write(ctx, dir); err != nil {
		fmt.Println("error", err)
	}
	return 1
}

func write(ctx context.Context, dir string) error {
	w, err := openLog(ctx, dir)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, w.config(), nil)
	if err != nil {
		return err
	}
	rows := w.streams.Keys().Journaled(l)
	failed := make(chan error, 1)
	go func() {
		for ctx.Err() == nil { // more often than Run does
			if err := l.Checkpoint(ctx); err != nil {
				failed <- err
				return
			}
		}
	}()
	prefix := fmt.Sprintf("k3.t.p%d-", os.Getpid())
	for n := 0; ctx.Err() == nil; n++ {
		if err := writeRound(ctx, rows, fmt.Sprintf("%sn%d-", prefix, n)); err != nil {
			return err
		}
		select {
		case err := <-failed:
			return err
		default:
		}
	}
	return nil
}

func writeRound(ctx context.Context, rows *natslog.Keys, prefix string) error {
	var batch []seal.Row
	var keys []string
	for i := range 10 {
		keys = append(keys, fmt.Sprintf("%s%d", prefix, i))
		batch = append(batch, seal.Row{Key: keys[i], Value: []byte("wrapped")})
	}
	if err := rows.Create(ctx, batch...); err != nil {
		return err
	}
	fmt.Println("made", strings.Join(keys, " "))
	stored, err := rows.GetMany(ctx, keys)
	if err != nil {
		return err
	}
	for i, step := range []func() error{
		func() error { return rows.Discard(ctx, stored[keys[0]], stored[keys[1]], stored[keys[2]]) },
		func() error { return rows.Destroy(ctx, keys[3]) },
		func() error { return rows.Replace(ctx, stored[keys[4]], stored[keys[5]]) },
		func() error { return rows.Destroy(ctx, keys[5], keys[6]) },
		func() error { _, err := rows.Put(ctx, stored[keys[7]]); return err },
	} {
		gone := [][]string{keys[:3], keys[3:4], nil, keys[5:7], nil}[i]
		fmt.Println("ending", strings.Join(gone, " "))
		if err := step(); err != nil {
			return err
		}
		fmt.Println("ended", strings.Join(gone, " "))
	}
	return nil
}

// TestKeysKilled kills a process that writes and removes rows while checkpoints are
// made, again and again. Nothing of it is damage, what was acknowledged is there,
// and what was removed is not.
func TestKeysKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustOpenLog(t, dir).mustClose(t)
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 3))
	made, ended := map[string]bool{}, map[string]bool{}
	for round := range 5 {
		killWriter(t, dir, 20+rng.IntN(120), made, ended)
		w := mustOpenLog(t, dir)
		l := w.mustOpen(t)
		there := map[string]bool{}
		for row, err := range w.rows.List(t.Context(), "k3") {
			must(t, err)
			there[row.Key] = true
		}
		for key := range made {
			if !there[key] {
				t.Fatalf("round %d: an acknowledged row is not there", round)
			}
		}
		for key := range ended {
			if there[key] {
				t.Fatalf("round %d: a row that was removed is there", round)
			}
		}
		must(t, l.CheckKeys(t.Context()))
		if round%2 == 0 {
			checkpoint(t, l)
		}
		w.mustClose(t)
	}
	if len(made) == 0 || len(ended) == 0 {
		t.Fatalf("%d made, %d ended", len(made), len(ended))
	}
	t.Logf("%d made, %d ended", len(made), len(ended))
}

// killWriter kills a writer when it has said so many lines, and notes what they say.
func killWriter(t *testing.T, dir string, lines int, made, ended map[string]bool) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), writerDir+"="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	scan := bufio.NewScanner(out)
	for n := 1; scan.Scan(); n++ {
		what, list, _ := strings.Cut(scan.Text(), " ")
		for key := range strings.FieldsSeq(list) {
			switch what {
			case "made":
				made[key] = true
			case "ending":
				delete(made, key)
			case "ended":
				ended[key] = true
			}
		}
		if what == "error" {
			t.Error(list)
		}
		if n == lines {
			must(t, cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || errors.Is(err, exec.ErrNotFound) {
		t.Fatalf("the writer ended: %v", err)
	}
}
