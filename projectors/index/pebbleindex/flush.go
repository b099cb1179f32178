package pebbleindex

import (
	"encoding/binary"
	"fmt"

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
	f := flusher{w: w, ix: w.ix, b: b, dirty: map[string]struct{}{}}
	for _, e := range w.order {
		if err := f.entry(e); err != nil {
			return fmt.Errorf("flush index: %w", err)
		}
	}
	for _, k := range w.newDims {
		f.key = w.ix.dimKey(f.key[:0], k.tenant, k.model)
		f.set(binary.BigEndian.AppendUint16(f.value[:0], uint16(w.dims[k]))) //nolint:gosec // validated to be at most MaxDim
	}
	f.writeBlocks()
	if err := f.writePostings(); err != nil {
		return fmt.Errorf("flush index: %w", err)
	}
	if f.err != nil {
		return fmt.Errorf("flush index: %w", f.err)
	}
	return nil
}

// flusher writes to a batch and keeps the first error of the batch.
type flusher struct {
	w          *Writer
	ix         *Index
	b          *pebble.Batch
	key, value []byte
	dirty      map[string]struct{} // keys of blocks that are changed
	dirtyKeys  []string            // the same in the order of the first change
	postings   []change
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

// entry writes what the batch has done to one document. A document that was put has a new place, so what is removed and
// what is written never share a row.
func (f *flusher) entry(e *entry) error {
	gone := e.stored != nil && (e.cur == nil || e.cur.fresh)
	if gone {
		if err := f.unstore(e); err != nil {
			return err
		}
	}
	if e.cur != nil && (e.cur.fresh || e.cur.changed) {
		return f.store(e)
	}
	return nil
}

// putForward changes one row of the block at f.key; nil takes it away.
func (f *flusher) putForward(place uint32, r *forwardRow) error {
	b, err := f.w.forward(f.key)
	if err != nil {
		return err
	}
	b[place] = r
	f.touch()
	return nil
}

// putVector does for int8 rows what putForward does.
func (f *flusher) putVector(place uint32, r *int8Row) error {
	b, err := f.w.vectors(f.key)
	if err != nil {
		return err
	}
	b[place] = r
	f.touch()
	return nil
}

// touch notes that the block at f.key is changed.
func (f *flusher) touch() {
	if _, ok := f.dirty[string(f.key)]; !ok {
		key := string(f.key)
		f.dirty[key] = struct{}{}
		f.dirtyKeys = append(f.dirtyKeys, key)
	}
}

func (f *flusher) writeBlocks() {
	for _, key := range f.dirtyKeys {
		f.key = append(f.key[:0], key...)
		value := f.value[:0]
		if b, ok := f.w.forwards[key]; ok {
			value = b.append(value)
		} else {
			value = f.w.vectorBlocks[key].append(value)
		}
		if len(value) == 0 {
			f.delete()
		} else {
			f.set(value)
		}
	}
}

// unstore takes away all rows of the stored document.
func (f *flusher) unstore(e *entry) error {
	loc := *e.stored
	terms, err := f.storedTerms(e.tenant, loc)
	if err != nil {
		return err
	}
	for _, t := range terms {
		f.postings = append(f.postings, change{tenant: e.tenant, subject: loc.subject, ordinal: loc.ordinal, term: t})
	}
	for _, m := range e.storedModels {
		f.key = f.ix.vectorKey(f.key[:0], e.tenant, m, loc.subject, loc.ordinal/vectorRows)
		if err := f.putVector(loc.ordinal%vectorRows, nil); err != nil {
			return err
		}
		f.key = f.ix.rescoreKey(f.key[:0], e.tenant, m, appendLP(nil, loc.subject), loc.ordinal)
		f.delete()
	}
	f.key = f.ix.termsKey(f.key[:0], e.tenant, loc)
	f.delete()
	if e.cur == nil {
		f.key = f.ix.idKey(f.key[:0], e.tenant, e.id)
		f.delete()
	}
	f.key = f.ix.forwardKey(f.key[:0], e.tenant, loc.subject, loc.ordinal/blockRows)
	return f.putForward(loc.ordinal%blockRows, nil)
}

func (f *flusher) storedTerms(tenant string, loc location) (terms []uint64, err error) {
	found := false
	err = f.w.get(f.ix.termsKey(nil, tenant, loc), func(value []byte) error {
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

// store writes the rows of a document.
func (f *flusher) store(e *entry) error {
	cur := e.cur
	f.key = f.ix.forwardKey(f.key[:0], e.tenant, cur.loc.subject, cur.loc.ordinal/blockRows)
	r := &forwardRow{fixed: cur.row.fixed, tail: appendTail(nil, &cur.row)}
	if err := f.putForward(cur.loc.ordinal%blockRows, r); err != nil {
		return err
	}
	if cur.fresh {
		f.key = f.ix.termsKey(f.key[:0], e.tenant, cur.loc)
		value := f.value[:0]
		for _, t := range cur.terms {
			value = binary.BigEndian.AppendUint64(value, t.Token)
			f.postings = append(f.postings, change{
				tenant: e.tenant, subject: cur.loc.subject, ordinal: cur.loc.ordinal, term: t.Token, tf: t.TF,
			})
		}
		f.set(value)
		f.key = f.ix.idKey(f.key[:0], e.tenant, e.id)
		f.set(appendPlace(f.value[:0], cur.loc.subject, cur.loc.ordinal))
	}
	for _, m := range cur.row.models {
		values, ok := cur.vectors[m.name]
		if !ok {
			continue
		}
		f.key = f.ix.vectorKey(f.key[:0], e.tenant, m.name, cur.loc.subject, cur.loc.ordinal/vectorRows)
		if err := f.putVector(cur.loc.ordinal%vectorRows, roundRow(values)); err != nil {
			return err
		}
		f.key = f.ix.rescoreKey(f.key[:0], e.tenant, m.name, appendLP(nil, cur.loc.subject), cur.loc.ordinal)
		f.set(appendFloats(f.value[:0], values))
	}
	return nil
}
