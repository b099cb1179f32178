package qdrantindex

import (
	"context"
)

// Flush writes the outcome of the batch, which ends at a mark, notes the mark, and ends the Writer. It tells whether there was
// anything to write; if not, the mark is not noted. The marks of batches that write must become later from one to the next.
//
// When it returns without an error, the server has said of every write that it is applied; after an error some may be, and
// the batch is to be done again from where the last one that was flushed ended, or Flush to be called again. What comes late
// of an earlier attempt, of this Writer or another, changes nothing.
func (w *Writer) Flush(ctx context.Context, m Mark) (wrote bool, err error) {
	if w.flushed {
		return false, ErrFlushed
	}
	// What limits vectors is there before them.
	wrote, err = w.flushModels(ctx, m)
	if err != nil {
		return wrote, err
	}
	now := w.ix.client.cfg.Now().Unix()
	var writes []write
	for _, e := range w.order {
		switch {
		case !e.changed || (e.cur == nil && !e.stored):
		case e.cur == nil:
			writes = append(writes, dead(e.key.Tenant, e.key.ID, now))
		default:
			writes = append(writes, e.cur.document())
		}
	}
	if err := w.ix.upsert(ctx, writes, m); err != nil {
		return wrote, err
	}
	// The mark is the last: a server that has it has what is before it.
	if wrote = wrote || len(writes) > 0; wrote {
		if err := w.ix.Note(ctx, m); err != nil {
			return wrote, err
		}
	}
	w.flushed = true
	return wrote, nil
}

func (w *Writer) flushModels(ctx context.Context, m Mark) (wrote bool, err error) {
	var writes []write
	for k, known := range w.models {
		if !known.changed {
			continue
		}
		if err := w.ix.createVector(ctx, vectorName(k.model, known.dim), known.dim); err != nil {
			return false, err
		}
		writes = append(writes, known.point(k))
	}
	return len(writes) > 0, w.ix.upsert(ctx, writes, m)
}
