package qdrantindex

import (
	"context"
	"fmt"

	"github.com/qdrant/go-client/qdrant"
)

// Sweep deletes the tombstones that are older than the grace of the configuration, for good. It may run beside a Writer.
func (ix *Index) Sweep(ctx context.Context) error {
	before := ix.client.cfg.Now().Add(-ix.client.cfg.Grace).Unix()
	old := both(
		row(rowDead), is(qdrant.NewRange(fieldDead, &qdrant.Range{Lt: new(float64(before))})),
	)
	if err := ix.remove(ctx, old.filter()); err != nil {
		return err
	}
	left, err := ix.count(ctx, old)
	if err == nil && left > 0 {
		err = fmt.Errorf("delete tombstones: %w", ErrNotCompleted)
	}
	return err
}
