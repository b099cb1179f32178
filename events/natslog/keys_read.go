package natslog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events/seal"
)

// ReadRows yields every row above a revision that is there, former ones that were
// not removed yet too, in the order of their revisions, up to the last that was
// acknowledged before the call or later. One that is removed meanwhile may or may
// not be seen. On one replica it costs a request for each 1,000 rows, on several
// one for each row.
func (k *Keys) ReadRows(ctx context.Context, after uint64) iter.Seq2[seal.Row, error] {
	return func(yield func(seal.Row, error) bool) {
		for {
			page, err := k.collect(ctx, prefixKeys+">", after+1)
			if err != nil {
				yield(seal.Row{}, translate("read rows", err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, m := range page {
				if !yield(toRow(m), nil) {
					return
				}
			}
			after = page[len(page)-1].Sequence
		}
	}
}

// HasRevision reports whether there is a row of a revision, whatever its key is.
func (k *Keys) HasRevision(ctx context.Context, revision uint64) (bool, error) {
	if revision == 0 {
		return false, nil
	}
	_, err := k.at(ctx, revision)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for row: %w", translate("read row", err))
	}
	return true, nil
}
