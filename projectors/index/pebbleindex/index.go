package pebbleindex

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// Index is one memory search index under one key prefix. It holds no state of the store, so it is safe for concurrent use.
type Index struct {
	prefix  []byte
	scratch sync.Pool
}

// New returns the index whose keys begin with prefix. No other rows of the store may have keys that begin with it.
func New(prefix []byte) *Index {
	return &Index{prefix: bytes.Clone(prefix)}
}

// Drop adds the deletion of the whole index to b.
func (ix *Index) Drop(b *pebble.Batch) error {
	lower, upper := ix.bounds()
	if err := b.DeleteRange(lower, upper, nil); err != nil {
		return fmt.Errorf("drop index: %w", err)
	}
	return nil
}

func (ix *Index) bounds() (lower, upper []byte) {
	return append(bytes.Clone(ix.prefix), sortDim), append(bytes.Clone(ix.prefix), sortEnd)
}
