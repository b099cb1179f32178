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
	f := flusher{w: w, ix: w.ix, b: b, dirty: map[*block]struct{}{}}
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
	dirty      map[*block]struct{}
	dirtyKeys  []string
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

// put changes one row of the block at f.key; nil takes it away.
func (f *flusher) put(place uint32, row []byte) error {
	b, err := f.w.block(f.key)
	if err != nil {
		return err
	}
	b[place] = row
	if _, ok := f.dirty[b]; !ok {
		f.dirty[b] = struct{}{}
		f.dirtyKeys = append(f.dirtyKeys, string(f.key))
	}
	return nil
}

func (f *flusher) writeBlocks() {
	for _, key := range f.dirtyKeys {
		f.key = append(f.key[:0], key...)
		if b := f.w.blocks[key]; b.empty() {
			f.delete()
		} else {
			f.set(b.append(f.value[:0]))
		}
	}
}

// unstore takes away all rows of the stored document.
func (f *flusher) unstore(e *entry) error {
	loc := *e.stored
	number, place := loc.ordinal/blockRows, loc.ordinal%blockRows
	terms, err := f.storedTerms(e.tenant, loc)
	if err != nil {
		return err
	}
	for _, t := range terms {
		f.postings = append(f.postings, change{tenant: e.tenant, subject: loc.subject, ordinal: loc.ordinal, term: t})
	}
	for _, m := range e.storedModels {
		f.key = f.ix.vectorKey(f.key[:0], e.tenant, m, loc.subject, number)
		if err := f.put(place, nil); err != nil {
			return err
		}
		f.key = f.ix.rescoreKey(f.key[:0], e.tenant, m, loc)
		f.delete()
	}
	f.key = f.ix.termsKey(f.key[:0], e.tenant, loc)
	f.delete()
	if e.cur == nil {
		f.key = f.ix.idKey(f.key[:0], e.tenant, e.id)
		f.delete()
	}
	f.key = f.ix.forwardKey(f.key[:0], e.tenant, loc.subject, number)
	return f.put(place, nil)
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
	number, place := cur.loc.ordinal/blockRows, cur.loc.ordinal%blockRows
	f.key = f.ix.forwardKey(f.key[:0], e.tenant, cur.loc.subject, number)
	if err := f.put(place, appendRow(nil, &cur.row)); err != nil {
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
		f.key = f.ix.vectorKey(f.key[:0], e.tenant, m.name, cur.loc.subject, number)
		if err := f.put(place, appendInt8(nil, values)); err != nil {
			return err
		}
		f.key = f.ix.rescoreKey(f.key[:0], e.tenant, m.name, cur.loc)
		f.set(appendFloats(f.value[:0], values))
	}
	return nil
}
