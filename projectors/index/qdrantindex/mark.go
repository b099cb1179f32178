package qdrantindex

import (
	"cmp"
	"context"
	"fmt"

	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// Mark is where a batch of events ends in the log. It is the version of the points that the batch writes, so that what is
// true later has the higher one whatever the batches were, and it is kept in the collection, so that one that has lost what
// was written shows it.
type Mark struct {
	// Log is the identity of the log.
	Log string
	// Position is that of the batch's last event, below 2 to the power of 53.
	Position uint64
	// Round counts the batches that end at one position, from zero.
	Round uint64
}

// Before reports whether a mark comes before another one of the same log.
func (m Mark) Before(o Mark) bool {
	return cmp.Or(cmp.Compare(m.Position, o.Position), cmp.Compare(m.Round, o.Round)) < 0
}

// older holds for points that were written before the mark.
func (m Mark) older() clause {
	position, round := int64(m.Position), int64(m.Round) //nolint:gosec // a log is not that long.
	return either(
		is(qdrant.NewRange(fieldWrite, &qdrant.Range{Lt: new(float64(position))})),
		both(between(fieldWrite, position, position), is(qdrant.NewRange(fieldRound, &qdrant.Range{Lt: new(float64(round))}))),
	)
}

func markID() *qdrant.PointId { return pointID(rowMark, "", "") }

// Note keeps a mark in the collection, unless a later one is there.
func (ix *Index) Note(ctx context.Context, m Mark) error {
	w := write{
		id: markID(), payload: map[string]any{fieldRow: rowMark, fieldLog: m.Log}, vectors: map[string]*qdrant.Vector{},
	}
	return ix.upsert(ctx, []write{w}, m)
}

// Noted returns the mark that the collection has, the zero one if it has none.
func (ix *Index) Noted(ctx context.Context) (Mark, error) {
	points, err := ix.get(ctx, []*qdrant.PointId{markID()}, nil)
	if err != nil || len(points) == 0 {
		return Mark{}, err
	}
	r := reader{payload: points[0].GetPayload()}
	position, round := r.number(fieldWrite), r.number(fieldRound)
	if r.bad || !isRow(r.payload, rowMark, "") || position < 0 || round < 0 {
		return Mark{}, fmt.Errorf("read mark: %w", index.ErrCorrupt)
	}
	return Mark{Log: r.payload[fieldLog].GetStringValue(), Position: uint64(position), Round: uint64(round)}, nil
}
