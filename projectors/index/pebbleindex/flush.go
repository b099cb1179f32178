package pebbleindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// Flush adds the outcome of the operations to b and ends the Writer. The position of the projection belongs in the same b.
// After an error b must not be committed.
func (w *Writer) Flush(b *pebble.Batch) error {
	if err := w.check(nil); err != nil {
		return fmt.Errorf("flush index: %w", err)
	}
	w.flushed = true
	f := flusher{w: w, ix: w.ix, b: b}
	// Deletions come first: a document that was removed and put again in this batch may use the same keys.
	for _, e := range w.order {
		if e.stored != nil && (e.cur == nil || e.cur.fresh) {
			f.unstore(e)
		}
	}
	var fresh []*entry
	for _, e := range w.order {
		if e.cur == nil {
			continue
		}
		if e.cur.fresh {
			fresh = append(fresh, e)
		}
		if e.cur.fresh || e.cur.changed {
			f.store(e)
		}
	}
	f.postings(fresh)
	for _, k := range w.newDims {
		f.key = w.ix.dimKey(f.key[:0], k.tenant, k.model)
		f.set(binary.BigEndian.AppendUint16(f.value[:0], uint16(w.dims[k]))) //nolint:gosec // validated to be at most MaxDim
	}
	if f.err != nil {
		return fmt.Errorf("flush index: %w", f.err)
	}
	return nil
}

// flusher writes to a batch and keeps the first error.
type flusher struct {
	w          *Writer
	ix         *Index
	b          *pebble.Batch
	key, value []byte
	err        error
}

// set writes value under key and keeps value's memory for the next.
func (f *flusher) set(value []byte) {
	if f.err == nil {
		f.err = f.b.Set(f.key, value, nil)
	}
	f.value = value
}

func (f *flusher) delete() {
	if f.err == nil {
		f.err = f.b.Delete(f.key, nil)
	}
}

// unstore deletes all rows of the stored document.
func (f *flusher) unstore(e *entry) {
	loc := *e.stored
	terms, err := f.storedTerms(e.tenant, loc)
	if err != nil && f.err == nil {
		f.err = err
	}
	for _, t := range terms {
		f.key = f.ix.postingKey(f.key[:0], e.tenant, t, loc)
		f.delete()
	}
	for _, m := range e.storedModels {
		for _, sort := range [...]byte{sortVector, sortRescore} {
			f.key = f.ix.modelKey(f.key[:0], sort, e.tenant, m, loc)
			f.delete()
		}
	}
	for _, sort := range [...]byte{sortForward, sortTerms} {
		f.key = f.ix.docKey(f.key[:0], sort, e.tenant, loc)
		f.delete()
	}
	f.key = f.ix.idKey(f.key[:0], e.tenant, e.id)
	f.delete()
}

func (f *flusher) storedTerms(tenant string, loc location) (terms []uint64, err error) {
	found := false
	err = f.w.get(f.ix.docKey(nil, sortTerms, tenant, loc), func(value []byte) error {
		found = len(value)%8 == 0
		for ; len(value) >= 8; value = value[8:] {
			terms = append(terms, binary.BigEndian.Uint64(value))
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("read terms row: %w", index.ErrCorrupt)
	}
	return terms, err
}

// store writes the rows of a document other than its postings.
func (f *flusher) store(e *entry) {
	cur := e.cur
	f.key = f.ix.docKey(f.key[:0], sortForward, e.tenant, cur.loc)
	f.set(appendRow(f.value[:0], &cur.row))
	if cur.fresh {
		f.key = f.ix.docKey(f.key[:0], sortTerms, e.tenant, cur.loc)
		value := f.value[:0]
		for _, t := range cur.terms {
			value = binary.BigEndian.AppendUint64(value, t.Token)
		}
		f.set(value)
		f.key = f.ix.idKey(f.key[:0], e.tenant, e.id)
		f.set(appendLocation(f.value[:0], cur.loc))
	}
	for _, m := range cur.row.models {
		values, ok := cur.vectors[m.name]
		if !ok {
			continue
		}
		f.key = f.ix.modelKey(f.key[:0], sortVector, e.tenant, m.name, cur.loc)
		f.set(appendInt8(f.value[:0], values))
		f.key = f.ix.modelKey(f.key[:0], sortRescore, e.tenant, m.name, cur.loc)
		f.set(appendFloats(f.value[:0], values))
	}
}

// freshPosting is a posting to write, with what it is sorted by.
type freshPosting struct {
	term  uint64
	entry int32 // in the order of keys
	tf    uint16
}

// postings writes the postings of all fresh documents in key order, which the store takes in faster than any other.
func (f *flusher) postings(fresh []*entry) {
	slices.SortFunc(fresh, func(x, y *entry) int {
		return cmp.Or(
			cmp.Compare(x.tenant, y.tenant),
			bytes.Compare(appendLocation(nil, x.cur.loc), appendLocation(nil, y.cur.loc)),
		)
	})
	for len(fresh) > 0 {
		n := slices.IndexFunc(fresh, func(e *entry) bool { return e.tenant != fresh[0].tenant })
		if n < 0 {
			n = len(fresh)
		}
		f.tenantPostings(fresh[:n])
		fresh = fresh[n:]
	}
}

func (f *flusher) tenantPostings(fresh []*entry) {
	var list []freshPosting
	for i, e := range fresh {
		for _, t := range e.cur.terms {
			list = append(list, freshPosting{term: t.Token, entry: int32(i), tf: t.TF}) //nolint:gosec // a batch is small
		}
	}
	slices.SortFunc(list, func(x, y freshPosting) int {
		return cmp.Or(cmp.Compare(x.term, y.term), cmp.Compare(x.entry, y.entry))
	})
	for _, p := range list {
		e := fresh[p.entry]
		f.key = f.ix.postingKey(f.key[:0], e.tenant, p.term, e.cur.loc)
		f.set(binary.AppendUvarint(f.value[:0], uint64(p.tf)))
	}
}
