package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	// A block is a full subtree of this height: its leaves are not kept.
	blockHeight = 8
	blockLeaves = 1 << blockHeight
)

// tree is a Merkle tree of which the leaves of full blocks are elsewhere.
type tree struct {
	size uint64
	// tail are the leaves behind the last full block.
	tail []tlog.Hash
	// levels[i] are the hashes at height blockHeight+i, of full subtrees only.
	levels [][]tlog.Hash
	// index is, for each block, the position of the record that added its first
	// leaf.
	index []uint64
}

// add appends a leaf that a record of the ledger holds.
func (t *tree) add(leaf tlog.Hash, record uint64) {
	if len(t.tail) == 0 {
		t.index = append(t.index, record)
	}
	t.tail = append(t.tail, leaf)
	t.size++
	if len(t.tail) < blockLeaves {
		return
	}
	h := subtree(t.tail)
	t.tail = t.tail[:0]
	for level := 0; ; level++ {
		if level == len(t.levels) {
			t.levels = append(t.levels, nil)
		}
		t.levels[level] = append(t.levels[level], h)
		n := len(t.levels[level])
		if n%2 != 0 {
			return
		}
		h = tlog.NodeHash(t.levels[level][n-2], t.levels[level][n-1])
	}
}

// cut takes the tree back to a size. Its tail is the leaves behind the last
// full block of that size.
func (t *tree) cut(size uint64, tail []tlog.Hash) {
	blocks := size / blockLeaves
	t.size, t.tail = size, slices.Clone(tail)
	for i, level := range t.levels {
		t.levels[i] = slices.Clone(level[:min(uint64(len(level)), blocks>>i)]) // others may still read the old ones
	}
	if len(tail) > 0 {
		blocks++
	}
	t.index = slices.Clone(t.index[:blocks])
}

// snapshot is a copy that does not change.
func (t *tree) snapshot() *tree {
	return &tree{size: t.size, tail: slices.Clone(t.tail), levels: slices.Clone(t.levels), index: t.index}
}

// subtree is the hash over a full subtree of leaves.
func subtree(leaves []tlog.Hash) tlog.Hash {
	row := slices.Clone(leaves)
	for len(row) > 1 {
		for i := range len(row) / 2 {
			row[i] = tlog.NodeHash(row[2*i], row[2*i+1])
		}
		row = row[:len(row)/2]
	}
	return row[0]
}

// blocks gives the leaves of a full block of a tree.
type blocks func(ctx context.Context, t *tree, block uint64) ([]tlog.Hash, error)

var errNoLeaves = errors.New("leaves are not at hand")

// reader reads stored hashes in the numbering of package tlog. It fetches the
// leaves of a block once.
func (t *tree) reader(ctx context.Context, fetch blocks) tlog.HashReader {
	fetched := map[uint64][]tlog.Hash{}
	leavesOf := func(block uint64) ([]tlog.Hash, error) {
		switch {
		case block == t.size/blockLeaves:
			return t.tail, nil
		case fetched[block] != nil:
			return fetched[block], nil
		case fetch == nil:
			return nil, errNoLeaves
		}
		leaves, err := fetch(ctx, t, block)
		fetched[block] = leaves
		return leaves, err
	}
	return tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, stored := range indexes {
			level, n := tlog.SplitStoredHashIndex(stored)
			if level >= blockHeight {
				above := level - blockHeight
				if above >= len(t.levels) || n >= int64(len(t.levels[above])) {
					return nil, errNoLeaves
				}
				out[i] = t.levels[above][n]
				continue
			}
			first := uint64(n) << level //nolint:gosec // It is not negative.
			leaves, err := leavesOf(first / blockLeaves)
			if err != nil {
				return nil, err
			}
			from := first % blockLeaves
			if from+1<<level > uint64(len(leaves)) {
				return nil, errNoLeaves
			}
			out[i] = subtree(leaves[from : from+1<<level])
		}
		return out, nil
	})
}

// root is the hash of the tree.
func (t *tree) root(ctx context.Context) (tlog.Hash, error) {
	root, err := tlog.TreeHash(int64(t.size), t.reader(ctx, nil)) //nolint:gosec // A position fits for ever.
	if err != nil {
		return root, fmt.Errorf("hash tree: %w", err)
	}
	return root, nil
}

// cloneLevels copies the hashes of the full subtrees, so that what is added to
// the copy is not seen by others.
func cloneLevels(levels [][]tlog.Hash) [][]tlog.Hash {
	out := make([][]tlog.Hash, len(levels))
	for i, level := range levels {
		out[i] = slices.Clip(level) // what is added goes elsewhere
	}
	return out
}
