package query

import "math"

// The constants of score fusion, in one place. DESIGN.md says where they come
// from and how to measure them again.
const (
	// lexicalShare and denseShare weigh the two channels. Only their ratio
	// counts: the sum is scaled to 0..1.
	lexicalShare = 1.0
	denseShare   = 0.5

	// lexicalHalf is the BM25 score that counts as half of the best possible. It
	// turns an open-ended score into 0..1 without looking at the other
	// candidates, so that the best of a bad lot stays bad.
	lexicalHalf = 6.0

	// denseFloor is the cosine at which two texts have nothing to do with each
	// other: vectors of sentences are never orthogonal.
	denseFloor = 0.25

	// relevanceFloor is the relevance under which a memory is not an answer.
	relevanceFloor = 0.12
)

// signals are the raw scores of one candidate in the two channels.
type signals struct {
	lexical, dense     float64
	isLexical, isDense bool
}

// fuse turns raw scores into a relevance in 0..1. If the question had no vector
// the words alone decide, on the same scale.
func fuse(s signals, withDense bool) float64 {
	sum, shares := lexicalShare*scaleLexical(s.lexical), lexicalShare
	if withDense {
		sum += denseShare * scaleDense(s.dense)
		shares += denseShare
	}
	return clamp(sum / shares)
}

func scaleLexical(score float64) float64 {
	if !(score > 0) {
		return 0
	}
	return clamp(score / (score + lexicalHalf))
}

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
