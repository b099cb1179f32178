package pebbleindex

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/internal/dot"
)

// wanted is a document whose exact score is to be read.
type wanted struct {
	doc  int32
	must bool // it has a vector
}

// rescore reads the exact scores of all documents that may be among the first K, and of those of also that have a vector.
//
// The first K by their upper bounds come first. The K-th greatest exact score among them is at least the K-th greatest lower
// bound, so that few others can reach it.
func (d *dense) rescore(ix *Index, it *pebble.Iterator, q *index.Query, s *scope, also []scored) error {
	if len(q.Vector) == 0 || d.none {
		return nil
	}
	least, full := d.top.min()
	list := d.maybe
	if full {
		list = slices.DeleteFunc(list, func(c scored) bool { return c.score < least })
	}
	cut := kthGreatest(list, q.K)
	d.want = d.want[:0]
	for _, c := range list {
		if c.score >= cut {
			d.want = append(d.want, wanted{doc: c.doc, must: true})
		}
	}
	for _, c := range also {
		d.want = append(d.want, wanted{doc: c.doc})
	}
	if err := d.read(ix, it, q, s); err != nil {
		return err
	}
	reach := kthGreatest(d.exact, q.K)
	d.want = d.want[:0]
	for _, c := range list {
		if _, known := d.of(c.doc); c.score < cut && c.score >= reach && !known {
			d.want = append(d.want, wanted{doc: c.doc, must: true})
		}
	}
	return d.read(ix, it, q, s)
}

// read adds the exact scores of the documents of want to exact.
func (d *dense) read(ix *Index, it *pebble.Iterator, q *index.Query, s *scope) error {
	// Reading in key order keeps the iterator going forward. Of two entries for one document the one that must be there stays.
	slices.SortFunc(d.want, func(a, b wanted) int {
		if a.doc == b.doc && a.must != b.must {
			if a.must {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.doc, b.doc)
	})
	d.want = slices.CompactFunc(d.want, func(a, b wanted) bool { return a.doc == b.doc })
	for _, c := range d.want {
		b := s.blockOf(c.doc)
		ordinal := b.number*blockRows + b.set.at(int(c.doc-b.first))
		d.key = ix.rescoreKey(d.key[:0], q.Tenant, q.Model, s.segments[b.segment].subject, ordinal)
		if !it.SeekPrefixGE(d.key) || !bytes.Equal(it.Key(), d.key) {
			if err := seekError(it); err != nil {
				return err
			}
			if c.must {
				return fmt.Errorf("find exact vector: %w", index.ErrCorrupt)
			}
			continue
		}
		value := it.Value()
		if len(value) != 4*len(q.Vector) {
			return fmt.Errorf("read exact vector: %w", index.ErrCorrupt)
		}
		d.exact = append(d.exact, scored{doc: c.doc, score: dot.F32(value, q.Vector)})
	}
	slices.SortFunc(d.exact, func(a, b scored) int { return cmp.Compare(a.doc, b.doc) })
	return nil
}

// of returns the exact score of a document that rescore has read. ok is false if it has not, as there is no vector.
func (d *dense) of(doc int32) (score float64, ok bool) {
	i, ok := slices.BinarySearchFunc(d.exact, doc, func(c scored, doc int32) int { return cmp.Compare(c.doc, doc) })
	if !ok {
		return 0, false
	}
	return d.exact[i].score, true
}
