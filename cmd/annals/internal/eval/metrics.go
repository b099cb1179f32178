package eval

import (
	"maps"
	"math"
	"slices"
)

// Metrics are the figures of ranked answers, each the mean over the queries.
type Metrics struct {
	N        int     `json:"n"`
	Recall5  float64 `json:"recall_at_5"`
	Recall10 float64 `json:"recall_at_10"`
	MRR10    float64 `json:"mrr_at_10"`
	NDCG10   float64 `json:"ndcg_at_10"`
}

// Judge scores one ranked answer against the gains of the relevant documents.
// Recall at k is the share of relevant documents among the first k.
func Judge(ranked []string, gains map[string]float64) Metrics {
	const depth = 10
	m := Metrics{N: 1}
	m.NDCG10, m.MRR10 = score(ranked, gains, depth)
	seen := map[string]bool{}
	var found5, found10 int
	for i, id := range ranked {
		if i >= depth {
			break
		}
		if gains[id] <= 0 || seen[id] {
			continue
		}
		seen[id] = true
		if i < 5 {
			found5++
		}
		found10++
	}
	relevant := float64(len(gains))
	m.Recall5, m.Recall10 = float64(found5)/relevant, float64(found10)/relevant
	return m
}

// score is the nDCG and the reciprocal rank of the first k. nDCG uses
// gain/log2(rank+1) (Järvelin and Kekäläinen, 2002) with an ideal ranking of the same
// gains.
func score(ranked []string, gains map[string]float64, k int) (ndcg, reciprocal float64) {
	ideal := slices.Sorted(maps.Values(gains))
	slices.Reverse(ideal)
	var best, got float64
	for i, g := range ideal {
		if i < k {
			best += g / math.Log2(float64(i)+2)
		}
	}
	seen := map[string]bool{}
	for i, id := range ranked[:min(k, len(ranked))] {
		g := gains[id]
		if g <= 0 || seen[id] {
			continue
		}
		seen[id] = true
		if reciprocal == 0 {
			reciprocal = 1 / float64(i+1)
		}
		got += g / math.Log2(float64(i)+2)
	}
	return got / best, reciprocal
}

// add accumulates sums; mean turns them into means.
func (m *Metrics) add(o Metrics) {
	m.N += o.N
	m.Recall5 += o.Recall5
	m.Recall10 += o.Recall10
	m.MRR10 += o.MRR10
	m.NDCG10 += o.NDCG10
}

func (m *Metrics) mean() Metrics {
	n := math.Max(1, float64(m.N))
	return Metrics{N: m.N, Recall5: m.Recall5 / n, Recall10: m.Recall10 / n, MRR10: m.MRR10 / n, NDCG10: m.NDCG10 / n}
}
