package pebbleindex

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
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

// At returns the read side of the index over r, as the interface that backends share.
func (ix *Index) At(r pebble.Reader) View { return View{ix: ix, r: r} }

// View is an [Index] read through one reader. It is as safe for concurrent use as the reader.
type View struct {
	ix *Index
	r  pebble.Reader
}

var _ index.Searcher = View{}

// Candidates returns what [Index.Candidates] does.
func (v View) Candidates(ctx context.Context, q index.Query) (index.Candidates, error) {
	return v.ix.Candidates(ctx, v.r, q)
}

// Count returns what [Index.Count] does.
func (v View) Count(ctx context.Context, f index.Filter) (int, error) {
	return v.ix.Count(ctx, v.r, f)
}
