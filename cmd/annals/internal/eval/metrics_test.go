package eval_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
)

// The figures are worked out by hand.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ranked []string
		gains  map[string]float64
		want   eval.Metrics
	}{
		"perfect": {[]string{"a", "b"}, map[string]float64{"a": 1, "b": 1}, eval.Metrics{N: 1, Recall5: 1, Recall10: 1, MRR10: 1, NDCG10: 1}},
		"nothing": {[]string{"x", "y"}, map[string]float64{"a": 1}, eval.Metrics{N: 1}},
		"empty":   {nil, map[string]float64{"a": 1}, eval.Metrics{N: 1}},
		"sixth": {
			[]string{"1", "2", "3", "4", "5", "a"},
			map[string]float64{"a": 1, "b": 1},
			eval.Metrics{N: 1, Recall10: 0.5, MRR10: 1.0 / 6, NDCG10: (1 / math.Log2(7)) / (1 + 1/math.Log2(3))},
		},
		"graded": {
			[]string{"b", "a"},
			map[string]float64{"a": 3, "b": 1},
			eval.Metrics{N: 1, Recall5: 1, Recall10: 1, MRR10: 1, NDCG10: (1 + 3/math.Log2(3)) / (3 + 1/math.Log2(3))},
		},
		"named twice counts once": {[]string{"a", "a"}, map[string]float64{"a": 1, "b": 1}, eval.Metrics{
			N: 1, Recall5: 0.5, Recall10: 0.5, MRR10: 1, NDCG10: 1 / (1 + 1/math.Log2(3)),
		}},
	} {
		if d := cmp.Diff(c.want, eval.Judge(c.ranked, c.gains), cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
