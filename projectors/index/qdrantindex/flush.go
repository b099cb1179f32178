package qdrantindex

import (
	"context"

	"github.com/qdrant/go-client/qdrant"
)

// Flush writes the outcome of the batch and ends the Writer. When it returns without an error, the server has said of every
// write that it is applied; after an error some may be, and the batch is to be done again from where the last one that
// was flushed ended, or Flush to be called again. What comes late of an earlier attempt, of this Writer or another, changes nothing.
func (w *Writer) Flush(ctx context.Context) error {
	if w.flushed {
		return ErrFlushed
	}
	// What limits vectors is there before them.
	if err := w.flushModels(ctx); err != nil {
		return err
	}
	now := w.ix.client.cfg.Now().Unix()
	var writes []write
	var version int64
	for _, e := range w.order {
		switch {
		case !e.changed || (e.cur == nil && !e.stored):
			continue
		case e.cur == nil:
			writes = append(writes, dead(e.key.Tenant, e.key.ID, now))
		default:
			writes = append(writes, e.cur.document())
		}
		version = max(version, e.version)
	}
	if err := w.flushPoints(ctx, writes, version+1); err != nil {
		return err
	}
	w.flushed = true
	return nil
}

// flushPoints writes points under one version, which is above those that they have.
func (w *Writer) flushPoints(ctx context.Context, writes []write, version int64) error {
	points := make([]*qdrant.PointStruct, len(writes))
	for i := range writes {
		p, err := writes[i].point(version)
		if err != nil {
			return err
		}
		points[i] = p
	}
	return w.ix.upsert(ctx, points, version)
}

func (w *Writer) flushModels(ctx context.Context) error {
	var writes []write
	var version int64
	for k, m := range w.models {
		if !m.changed {
			continue
		}
		if err := w.ix.createVector(ctx, vectorName(k.model, m.dim), m.dim); err != nil {
			return err
		}
		writes = append(writes, m.point(k))
		version = max(version, m.version)
	}
	return w.flushPoints(ctx, writes, version+1)
}
