package bench

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/annals-memory/annals/producers/embed"
)

const (
	standInDim   = 512
	standInBatch = 256
)

// StandIn is an embedder that costs next to nothing, for scopes so large that
// the built-in model would embed them for an hour. Each word is a fixed
// pseudo-random direction of 512 dimensions, drawn from a Gaussian that its hash
// seeds, and a text is the normalised sum of its words: texts with words in
// common are near each other, all others are as far apart as chance puts them.
//
// It is deterministic and safe for concurrent use. Not guaranteed is any meaning:
// it is for figures about time and size, never about relevance.
type StandIn struct{}

var _ embed.Embedder = StandIn{}

// ID names it as a model like any other.
func (StandIn) ID() embed.ModelID {
	return embed.ModelID{Provider: "bench", Model: "stand-in", Revision: "1", Dim: standInDim, Prep: "fields"}
}

// MaxBatch is the largest batch that Embed takes.
func (StandIn) MaxBatch() int { return standInBatch }

// Embed returns a vector for each text, nil for one without a word. The errors
// are the context's and [embed.ErrBatchTooLarge].
func (StandIn) Embed(ctx context.Context, texts []string, _ embed.Kind) ([][]float32, error) {
	if len(texts) > standInBatch {
		return nil, embed.ErrBatchTooLarge
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embed: %w", err)
		}
		vectors[i] = standInVector(text)
	}
	return vectors, nil
}

func standInVector(text string) []float32 {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	v := make([]float32, standInDim)
	for _, w := range words {
		h := fnv.New64a()
		h.Write([]byte(w))
		rng := rand.New(rand.NewPCG(h.Sum64(), standInDim)) //nolint:gosec // A repeatable direction, not a secret.
		for i := range v {
			v[i] += float32(rng.NormFloat64())
		}
	}
	var norm float64
	for _, x := range v {
		norm += float64(x) * float64(x)
	}
	scale := float32(1 / math.Sqrt(norm))
	for i := range v {
		v[i] *= scale
	}
	return v
}
