package embed

import (
	"context"
	"errors"
	"fmt"
)

// ErrBatchTooLarge is returned by Embed for more texts than MaxBatch; nothing was computed or sent. [All] splits.
var ErrBatchTooLarge = errors.New("more texts than the embedder takes in one batch")

// Embedder turns texts into vectors. It is safe for concurrent use.
type Embedder interface {
	// ID says which model this is. It never changes during the life of the embedder.
	ID() ModelID

	// MaxBatch is the largest number of texts that one call of Embed takes, at least 1.
	MaxBatch() int

	// Embed returns one vector per text, in order: unit length, ID().Dim components, all finite. An empty text, or
	// one without a token that the model knows, has a nil vector. The vectors are the caller's to keep and change.
	//
	// It answers for the whole batch or not at all: with an error no vector is returned. The errors are
	// ErrBatchTooLarge, the context's, a *VectorError when the model broke its own contract, and those that the
	// implementation documents. None of them holds any part of a text.
	//
	// The built-in embedder is deterministic: one build on one machine gives the same bits for the same text,
	// whatever the batch and the concurrency. A remote one need not be.
	Embed(ctx context.Context, texts []string, kind Kind) ([][]float32, error)
}

// All embeds any number of texts in batches of e.MaxBatch, one after the other, and returns the vectors in the order
// of the texts. The first failing batch ends it: the error is returned without vectors, those of earlier batches
// included.
func All(ctx context.Context, e Embedder, texts []string, kind Kind) ([][]float32, error) {
	size := max(1, e.MaxBatch())
	all := make([][]float32, 0, len(texts))

	for start := 0; start < len(texts); start += size {
		batch := texts[start:min(start+size, len(texts))]

		vectors, err := e.Embed(ctx, batch, kind)
		if err != nil {
			return nil, fmt.Errorf("embed batch at text %d: %w", start, err)
		}

		all = append(all, vectors...)
	}

	return all, nil
}
