package bench_test

import (
	"errors"
	"math"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/bench"
	"github.com/annals-memory/annals/producers/embed"
)

func TestStandIn(t *testing.T) {
	t.Parallel()
	var m bench.StandIn
	texts := []string{"red green blue", "blue green red", "red green grey", "one two three", " "}
	vectors, err := m.Embed(t.Context(), texts, embed.Document)
	if err != nil || len(vectors) != len(texts) || vectors[4] != nil {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	again, err := m.Embed(t.Context(), texts[:1], embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	cosine := func(a, b []float32) float64 {
		var sum float64
		for i := range a {
			sum += float64(a[i]) * float64(b[i])
		}
		return sum
	}
	for name, tc := range map[string]struct {
		got      float64
		from, to float64
	}{
		"length":               {cosine(vectors[0], vectors[0]), 0.9999, 1.0001},
		"again, as a question": {cosine(vectors[0], again[0]), 0.9999, 1.0001},
		"other order":          {cosine(vectors[0], vectors[1]), 0.9999, 1.0001},
		"two of three words":   {cosine(vectors[0], vectors[2]), 0.5, 0.8},
		"no word in common":    {math.Abs(cosine(vectors[0], vectors[3])), 0, 0.2},
	} {
		if tc.got < tc.from || tc.got > tc.to {
			t.Errorf("%s: %f, want %f to %f", name, tc.got, tc.from, tc.to)
		}
	}
	if id := m.ID(); len(vectors[0]) != id.Dim {
		t.Errorf("%d dimensions, want %d", len(vectors[0]), id.Dim)
	}
	if _, err := m.Embed(t.Context(), make([]string, m.MaxBatch()+1), embed.Document); !errors.Is(err, embed.ErrBatchTooLarge) {
		t.Errorf("too many: %v", err)
	}
}
