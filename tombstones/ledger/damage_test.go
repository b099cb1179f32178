package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/tombstones/ledger"
)

const (
	childDir = "ANNALS_LEDGER_TEST_DIR"
	// What a child that opens a directory exits with.
	childServes, childRefuses, childDamaged = 0, 1, 3
	// A server that reads a damaged length asks for any amount of memory.
	childKilobytes = 6 << 20
	childTime      = 40 * time.Second
)

var flips = flag.Int("flips", 40, "bits to flip in the files of the log, one at a time")

// child opens a directory as a server would and says how it went.
func child(dir string) int {
	ctx, cancel := context.WithTimeout(context.Background(), childTime)
	defer cancel()
	rows, err := openAndClose(ctx, dir)
	if d, is := ledger.AsDamage(err); is {
		fmt.Println(d.Kind)
		return childDamaged
	}
	if err != nil {
		fmt.Println(err)
		return childRefuses
	}
	fmt.Println(rows)
	return childServes
}

// inChild opens a directory in a process that is bounded.
func inChild(ctx context.Context, dir string) (code int, said string, err error) {
	exe, err := os.Executable()
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, childTime+10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	if !raced {
		cmd = exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$0"`, childKilobytes), exe)
	}
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); cmd.ProcessState == nil {
		return 0, "", err
	}
	return cmd.ProcessState.ExitCode(), string(bytes.TrimSpace(out.Bytes())), nil
}

func blocks(t *testing.T, dir, stream string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, logDir, "jetstream", "$G", "streams", stream, "msgs", "*.blk"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no block files: %v", err)
	}
	return files
}

func stream(dir, name string) string {
	return filepath.Join(dir, logDir, "jetstream", "$G", "streams", name)
}

func dropIndex(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(stream(dir, name), "msgs", "index.db")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

// TestDamage flips single bits in the block files of the log and of the ledger,
// with the index that the server keeps and without it, and opens each copy in a
// process of its own. None may serve. -flips sets how many: 200 take a minute.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := made(t, 400) // what is left of an erased message says nothing, and may be flipped
	for _, index := range []bool{true, false} {
		c := copied(t, dir)
		if !index {
			dropIndex(t, c, "EVENTS")
		}
		code, said, err := inChild(t.Context(), c)
		if err != nil || code != childServes {
			t.Fatalf("a copy that is as it was, with an index %v: exit %d %s %v", index, code, said, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	counts := map[string]int{}
	var g errgroup.Group
	g.SetLimit(2)
	for i := range *flips {
		name := "EVENTS"
		if i%8 == 7 {
			name = "LEDGER"
		}
		c := copied(t, dir)
		file := blocks(t, c, name)[0]
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at, bit := rng.IntN(len(b)), rng.IntN(8)
		b[at] ^= 1 << bit
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			dropIndex(t, c, name)
		}
		g.Go(func() error {
			code, said, err := inChild(t.Context(), c)
			if err != nil {
				return err
			}
			if code == childServes {
				t.Errorf("bit %d of byte %d of %d of %s, index dropped %v: it serves", bit, at, len(b), name, i%2 == 1)
			}
			mu.Lock()
			counts[fmt.Sprintf("%s exit %d %s", name, code, said)]++
			mu.Unlock()
			return os.RemoveAll(c)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Log(counts)
}
