package query

import (
	"math"
	"strings"

	"github.com/annals-memory/annals/projectors/index/words"
)

// The constants of score fusion, in one place. DESIGN.md says where they come
// from and how to measure them again.
const (
	// lexicalShare and denseShare weigh the two channels. Only their ratio
	// counts: the sum is scaled to 0..1.
	lexicalShare = 1.0
	denseShare   = 0.75

	// relevanceFloor is the relevance under which a memory is not an answer.
	relevanceFloor = 0.05
)

// denseFloor is the cosine of two texts that have nothing to do with each other,
// as the vectors of a model have it: those of sentences are never orthogonal, and
// how far they are from it is a matter of how the model was trained. It is what a
// question and a text have in the median.
func denseFloor(model string) float64 {
	if strings.Contains(model, "bge-") {
		return 0.5
	}
	return 0.25
}

// signals are the raw scores of one candidate in the two channels.
type signals struct {
	lexical, dense     float64
	isLexical, isDense bool
}

// set takes over what one channel says of both. What the index knows not is 0.
func (s *signals) set(lexical, dense float64, isLexical, isDense bool) {
	if isLexical {
		s.lexical, s.isLexical = lexical, true
	}
	if isDense {
		s.dense, s.isDense = dense, true
	}
}

// scale is what turns the raw scores of one question into relevance. BM25 says
// which text has more of a question's words, and nothing of how much that is: its
// scores grow with the number of memories and the rarity of words, and are next
// to nothing where every memory has the word. So the best text is opened and its
// share of the question's words is what its score stands for: the best of a bad
// lot stays bad.
type scale struct {
	// best is the highest BM25 score, coverage the share of the question's
	// different words that are in its text.
	best, coverage float64
	// dense says that the question has a vector, whose model has the floor.
	// Without one the words alone decide, on the same scale.
	dense bool
	floor float64
}

// fuse turns raw scores into a relevance in 0..1.
func (s scale) fuse(raw signals) float64 {
	sum, shares := lexicalShare*s.lexical(raw.lexical), lexicalShare
	if s.dense {
		sum += denseShare * clamp((raw.dense-s.floor)/(1-s.floor))
		shares += denseShare
	}
	return clamp(sum / shares)
}

func (s scale) lexical(score float64) float64 {
	if !(s.best > 0) {
		return 0
	}
	return clamp(score / s.best * s.coverage)
}

// coverage is the share of the question's words that are in a text.
func coverage(question map[string]bool, text string) float64 {
	if len(question) == 0 {
		return 0
	}
	found := make(map[string]bool)
	for _, term := range words.Terms(text) {
		if question[term] {
			found[term] = true
		}
	}
	return float64(len(found)) / float64(len(question))
}

// clamp keeps x in 0..1; NaN becomes 0.
func clamp(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return math.Min(x, 1)
}
