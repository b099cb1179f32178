package pebbleindex

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// get hands the value of key to use, if there is one.
func (w *Writer) get(key []byte, use func(value []byte) error) (err error) {
	value, closer, err := w.r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get index row: %w", err)
	}
	defer func() {
		if e := closer.Close(); e != nil && err == nil {
			err = fmt.Errorf("close index row: %w", e)
		}
	}()
	return use(value)
}

// forward returns the block of forward rows at key, reading it when the batch asks for it for the first time. Flush changes
// it in place.
func (w *Writer) forward(key []byte) (*forwardBlock, error) {
	if b, ok := w.forwards[string(key)]; ok {
		return b, nil
	}
	b := new(forwardBlock)
	if err := w.get(key, func(value []byte) error { return b.parse(bytes.Clone(value)) }); err != nil {
		return nil, err
	}
	w.forwards[string(key)] = b
	return b, nil
}

// vectors returns the block of int8 rows at key as forward does.
func (w *Writer) vectors(key []byte) (*vectorBlock, error) {
	if b, ok := w.vectorBlocks[string(key)]; ok {
		return b, nil
	}
	b := new(vectorBlock)
	if err := w.get(key, func(value []byte) error { return b.parse(bytes.Clone(value)) }); err != nil {
		return nil, err
	}
	w.vectorBlocks[string(key)] = b
	return b, nil
}

// place returns the next free place of a subject. Places that this batch frees are not taken again in it.
func (w *Writer) place(tenant, subject string) (loc location, err error) {
	k := subjectKey{tenant: tenant, subject: subject}
	next, ok := w.next[k]
	if !ok {
		if next, err = w.firstFree(k); err != nil {
			return location{}, err
		}
	}
	if next > maxOrdinal {
		return location{}, fmt.Errorf("number documents of a subject: %w", index.ErrDocument)
	}
	w.next[k] = next + 1
	return location{subject: subject, ordinal: uint32(next)}, nil
}

// firstFree returns the ordinal after the last stored one of a subject.
func (w *Writer) firstFree(k subjectKey) (next uint64, err error) {
	start := appendLP(w.ix.start(nil, sortForward, k.tenant), k.subject)
	it, err := w.r.NewIter(&pebble.IterOptions{
		LowerBound: start, UpperBound: append(bytes.Clone(start), bytes.Repeat([]byte{0xff}, ordinalBytes+1)...),
	})
	if err != nil {
		return 0, fmt.Errorf("open index iterator: %w", err)
	}
	defer closeInto(it, &err)
	if !it.Last() {
		return 0, seekError(it)
	}
	_, number, ok := parsePlace(it.Key()[len(start)-1-len(k.subject):])
	if !ok {
		return 0, fmt.Errorf("read forward key: %w", index.ErrCorrupt)
	}
	var v forwardView
	if err := v.parse(it.Value()); err != nil {
		return 0, err
	}
	return uint64(number)*blockRows + uint64(v.set.at(v.n-1)) + 1, nil
}

// entry returns the document as the batch has left it so far, reading it when the batch touches it for the first time.
func (w *Writer) entry(tenant, id string) (*entry, error) {
	k := entryKey{tenant: tenant, id: id}
	if e, ok := w.entries[k]; ok {
		return e, nil
	}
	e := &entry{tenant: tenant, id: id}
	err := w.get(w.ix.idKey(nil, tenant, id), func(value []byte) error {
		subject, ordinal, ok := parsePlace(value)
		if !ok {
			return fmt.Errorf("read id row: %w", index.ErrCorrupt)
		}
		e.stored = &location{subject: string(subject[1:]), ordinal: ordinal}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if e.stored != nil {
		b, err := w.forward(w.ix.forwardKey(nil, tenant, e.stored.subject, e.stored.ordinal/blockRows))
		if err != nil {
			return nil, err
		}
		r, err := parseRow(b[e.stored.ordinal%blockRows])
		if err != nil {
			return nil, err
		}
		if r.id != id {
			return nil, fmt.Errorf("follow id row: %w", index.ErrCorrupt)
		}
		for _, m := range r.models {
			e.storedModels = append(e.storedModels, m.name)
		}
		e.cur = &state{loc: *e.stored, row: *r}
	}
	w.entries[k] = e
	w.order = append(w.order, e)
	return e, nil
}

// storedIDs returns the ids of the next stored documents of a subject that no earlier call has returned.
func (w *Writer) storedIDs(k subjectKey) (ids []string, more bool, err error) {
	start := appendLP(w.ix.start(nil, sortForward, k.tenant), k.subject)
	lower, upper := w.ix.bounds()
	it, err := w.r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, false, fmt.Errorf("open index iterator: %w", err)
	}
	defer closeInto(it, &err)
	from := w.ix.forwardKey(nil, k.tenant, k.subject, w.cursors[k])
	for ok := it.SeekGE(from); ok && bytes.HasPrefix(it.Key(), start); ok = it.Next() {
		_, number, fits := parsePlace(it.Key()[len(start)-1-len(k.subject):])
		if !fits {
			return nil, false, fmt.Errorf("read forward key: %w", index.ErrCorrupt)
		}
		if w.cursors[k] = number; len(ids) >= removeStep {
			return ids, true, nil
		}
		var v forwardView
		if err := v.parse(it.Value()); err != nil {
			return nil, false, err
		}
		for i := range v.n {
			tail, err := v.tail(i)
			if err != nil {
				return nil, false, err
			}
			r := rowReader{b: tail}
			ids = append(ids, string(r.token()))
		}
	}
	return ids, false, seekError(it)
}
