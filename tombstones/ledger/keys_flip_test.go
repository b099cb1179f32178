package ledger_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

const headBytes = 22

// headsOf are where the records of a block begin.
func headsOf(block []byte) (at []int) {
	const header = 1 << 31
	for next := 0; next+headBytes < len(block); next += int(binary.LittleEndian.Uint32(block[next:]) &^ header) {
		at = append(at, next)
	}
	return at
}

// TestKeysDamage flips single bits in the block files of the keys, with the index
// that the server keeps and without it, and opens each copy in a process of its
// own, half of them in the heads of records. Each is noticed, or no row is another
// one. -flips sets how many, twice over.
func TestKeysDamage(t *testing.T) {
	t.Parallel()
	dir, digest := kept(t, 200, 20)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	var mu sync.Mutex
	counts := map[string]int{}
	var g errgroup.Group
	g.SetLimit(2)
	for i := range *flips / 2 {
		c := copied(t, dir)
		files := blocks(t, c, "KEYS")
		file := files[rng.IntN(len(files))]
		b, err := os.ReadFile(file)
		must(t, err)
		at, bit := rng.IntN(len(b)), rng.IntN(8)
		if heads := headsOf(b); i%4 >= 2 { // where lengths and sequences are
			at = heads[rng.IntN(len(heads))] + rng.IntN(headBytes)
		}
		b[at] ^= 1 << bit
		must(t, os.WriteFile(file, b, 0o600))
		index := i%2 == 0
		if !index {
			dropIndex(t, c, "KEYS")
		}
		g.Go(func() error {
			noticed, said := soundOrNoticed(t, c, digest)
			if !noticed && said != digest {
				return fmt.Errorf("bit %d of byte %d of %d, index %v: %s", bit, at, len(b), index, said)
			}
			mu.Lock()
			counts[fmt.Sprintf("noticed %v: %s", noticed, said)]++
			mu.Unlock()
			return os.RemoveAll(c)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Log(counts)
}
