package eval

import (
	"math/rand/v2"
	"slices"
)

// Difference is the mean of paired differences, with the interval of 95 % that a
// bootstrap of the pairs has (Efron and Tibshirani, 1993).
type Difference struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	bootstraps = 10_000
	// maxDraws bounds the draws of one bootstrap: of very many pairs fewer samples say
	// as much.
	maxDraws = 50_000_000
)

// newDifference draws samples of the differences; the same ones every time.
func newDifference(of []float64) Difference {
	if len(of) == 0 {
		return Difference{}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(of)))) //nolint:gosec // Repeatable, not a secret.
	means := make([]float64, max(1_000, min(bootstraps, maxDraws/len(of))))
	for i := range means {
		var sum float64
		for range of {
			sum += of[rng.IntN(len(of))]
		}
		means[i] = sum / float64(len(of))
	}
	slices.Sort(means)
	at := func(q float64) float64 { return means[int(q*float64(len(means)-1)+0.5)] }
	return Difference{Mean: mean(of), Low: at(0.025), High: at(0.975)}
}

func mean(of []float64) float64 {
	var sum float64
	for _, v := range of {
		sum += v
	}
	return sum / float64(max(1, len(of)))
}
