package ledger

import (
	"context"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"
)

// TestTree compares the tree, grown and cut back at random, with one that keeps
// every hash.
func TestTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own := &tree{}
		var leaves []tlog.Hash
		fetch := func(_ context.Context, _ *tree, block uint64) ([]tlog.Hash, error) {
			return leaves[block*blockLeaves : (block+1)*blockLeaves], nil
		}
		for round := range rapid.IntRange(1, 4).Draw(t, "rounds") {
			for i := range rapid.IntRange(0, 1200).Draw(t, "added") {
				leaf := tlog.RecordHash([]byte{byte(round), byte(i), byte(i >> 8)})
				leaves = append(leaves, leaf)
				own.add(leaf, uint64(len(leaves)))
			}
			size := uint64(rapid.IntRange(0, len(leaves)).Draw(t, "cut"))
			if rapid.Bool().Draw(t, "cuts") {
				leaves = leaves[:size]
				own.cut(size, leaves[size/blockLeaves*blockLeaves:])
			}
		}
		var stored []tlog.Hash
		all := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
			var out []tlog.Hash
			for _, i := range indexes {
				out = append(out, stored[i])
			}
			return out, nil
		})
		for i, leaf := range leaves {
			more, err := tlog.StoredHashesForRecordHash(int64(i), leaf, all)
			if err != nil {
				t.Fatal(err)
			}
			stored = append(stored, more...)
		}
		n := int64(len(leaves))
		want, err := tlog.TreeHash(n, all)
		if err != nil {
			t.Fatal(err)
		}
		got, err := own.root(t.Context())
		if err != nil || got != want {
			t.Fatalf("root of %d leaves differs: %v", n, err)
		}
		if want := (n + blockLeaves - 1) / blockLeaves; int64(len(own.index)) != want {
			t.Fatalf("%d blocks in the index, want %d", len(own.index), want)
		}
		if n == 0 {
			return
		}
		at := rapid.Int64Range(0, n-1).Draw(t, "proved")
		proof, err := tlog.ProveRecord(n, at, own.reader(t.Context(), fetch))
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckRecord(proof, n, want, at, leaves[at]); err != nil {
			t.Fatal(err)
		}
		before, err := tlog.ProveTree(n, at+1, own.reader(t.Context(), fetch))
		if err != nil {
			t.Fatal(err)
		}
		old, err := tlog.TreeHash(at+1, all)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckTree(before, n, want, at+1, old); err != nil {
			t.Fatal(err)
		}
	})
}
