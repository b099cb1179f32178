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

// readRow returns the stored forward row at loc, or nil.
func (w *Writer) readRow(tenant string, loc location) (found *row, err error) {
	err = w.get(w.ix.docKey(nil, sortForward, tenant, loc), func(value []byte) (err error) {
		found, err = parseRow(value)
		return err
	})
	return found, err
}

// entry returns the document as the batch has left it so far, reading it when the batch touches it for the first time.
func (w *Writer) entry(tenant, id string) (*entry, error) {
	k := entryKey{tenant: tenant, id: id}
	if e, ok := w.entries[k]; ok {
		return e, nil
	}
	e := &entry{tenant: tenant, id: id}
	err := w.get(w.ix.idKey(nil, tenant, id), func(value []byte) error {
		loc, ok := parseLocation(value)
		if !ok {
			return fmt.Errorf("read id row: %w", index.ErrCorrupt)
		}
		e.stored = &loc
		return nil
	})
	if err != nil {
		return nil, err
	}
	if e.stored != nil {
		r, err := w.readRow(tenant, *e.stored)
		if err != nil {
			return nil, err
		}
		if r == nil || r.id != id {
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

// storedIDs returns the ids of the next stored documents of a subject that this batch has not yet removed.
func (w *Writer) storedIDs(k subjectKey) (ids []string, more bool, err error) {
	start := appendLP(w.ix.start(nil, sortForward, k.tenant), k.subject)
	from := start
	if last, ok := w.cursors[k]; ok {
		from = append(w.ix.docKey(nil, sortForward, k.tenant, last), 0)
	}
	lower, upper := w.ix.bounds()
	it, err := w.r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, false, fmt.Errorf("open index iterator: %w", err)
	}
	defer closeInto(it, &err)
	var last location
	for ok := it.SeekGE(from); ok && bytes.HasPrefix(it.Key(), start); ok = it.Next() {
		if len(ids) == removeStep {
			more = true
			break
		}
		if err := checkRow(it.Value()); err != nil {
			return nil, false, err
		}
		r := rowReader{b: it.Value()[offTokens:]}
		ids = append(ids, string(r.token()))
		if last, ok = parseLocation(it.Key()[len(start)-1-len(k.subject):]); !ok {
			return nil, false, fmt.Errorf("read forward key: %w", index.ErrCorrupt)
		}
	}
	if len(ids) > 0 {
		w.cursors[k] = last
	}
	return ids, more, seekError(it)
}
