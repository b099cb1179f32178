package query

import (
	"math"

	"github.com/annals-memory/annals/projectors/index"
)

// The constants of score fusion, in one place. DESIGN.md says where they come
// from and how to measure them again.
const (
	// lexicalShare and denseShare weigh the two channels. Only their ratio
	// counts: the sum is scaled to 0..1.
	lexicalShare = 1.0
	denseShare   = 0.5

	// idfShare is how rare a word of a question is, on average, as a share of
	// the rarest possible.
	idfShare = 0.55

	// denseFloor is the cosine at which two texts have nothing to do with each
	// other: vectors of sentences are never orthogonal.
	denseFloor = 0.25

	// relevanceFloor is the relevance under which a memory is not an answer.
	relevanceFloor = 0.05
)

// signals are the raw scores of one candidate in the two channels.
type signals struct {
	lexical, dense     float64
	isLexical, isDense bool
}

// scale is what turns the raw scores of one question into relevance. It depends
// on the question and on how much could answer it, never on the candidates: the
// best of a bad lot stays bad.
type scale struct {
	// ceiling is the BM25 score of a short text with every word of the question.
	ceiling float64
	// dense says that the question has a vector. Without one the words alone
	// decide, on the same scale.
	dense bool
}

// newScale is for a question of so many different words, asked of so many
// memories. It is an estimate: the exact sum of the inverse document frequencies
// is known to the index alone.
func newScale(words, memories int, dense bool) scale {
	rarest := math.Log1p(float64(max(1, memories)))
	return scale{
		ceiling: float64(max(1, words)) * (index.BM25K1 + 1) * idfShare * rarest,
		dense:   dense,
	}
}

// fuse turns raw scores into a relevance in 0..1.
func (s scale) fuse(raw signals) float64 {
	sum, shares := lexicalShare*s.lexical(raw.lexical), lexicalShare
	if s.dense {
		sum += denseShare * scaleDense(raw.dense)
		shares += denseShare
	}
	return clamp(sum / shares)
}

func (s scale) lexical(score float64) float64 { return clamp(score / s.ceiling) }

func scaleDense(cosine float64) float64 {
	return clamp((cosine - denseFloor) / (1 - denseFloor))
}

// clamp keeps x in 0..1; NaN becomes 0.
func clamp(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Min(x, 1)
}
