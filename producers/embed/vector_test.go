package embed_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/producers/embed"
)

func TestCheck(t *testing.T) {
	t.Parallel()

	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	unit := []float32{0.6, 0.8, 0}

	tests := map[string]struct {
		texts   int
		vectors [][]float32
		index   int
		reason  error
	}{
		"unit":            {texts: 1, vectors: [][]float32{unit}},
		"nothing":         {},
		"nil is no token": {texts: 2, vectors: [][]float32{nil, unit}},
		"too few":         {texts: 2, vectors: [][]float32{unit}, index: -1, reason: embed.ErrVectorCount},
		"too many":        {texts: 0, vectors: [][]float32{unit}, index: -1, reason: embed.ErrVectorCount},
		"short":           {texts: 2, vectors: [][]float32{unit, {0.6, 0.8}}, index: 1, reason: embed.ErrVectorDim},
		"long":            {texts: 1, vectors: [][]float32{{0.6, 0.8, 0, 0}}, reason: embed.ErrVectorDim},
		"empty":           {texts: 1, vectors: [][]float32{{}}, reason: embed.ErrVectorDim},
		"zero":            {texts: 1, vectors: [][]float32{{0, 0, 0}}, reason: embed.ErrVectorNotUnit},
		"not normalised":  {texts: 1, vectors: [][]float32{{0.6, 0.8, 0.1}}, reason: embed.ErrVectorNotUnit},
		"NaN":             {texts: 1, vectors: [][]float32{{0.6, nan, 0.8}}, reason: embed.ErrVectorNotFinite},
		"infinite":        {texts: 3, vectors: [][]float32{unit, nil, {0.6, 0.8, inf}}, index: 2, reason: embed.ErrVectorNotFinite},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := embed.Check(embed.ModelID{Dim: 3}, tt.texts, tt.vectors)
			if tt.reason == nil {
				if err != nil {
					t.Fatalf("Check = %v, want nil", err)
				}

				return
			}

			var bad *embed.VectorError
			if !errors.As(err, &bad) || !errors.Is(err, tt.reason) || bad.Index != tt.index {
				t.Fatalf("Check = %#v, want index %d, %v", err, tt.index, tt.reason)
			}

			if err.Error() == "" {
				t.Fatal("error without a text")
			}
		})
	}
}

func TestNormalize(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32), 1, 64).Draw(t, "v")
		zero := true

		for _, x := range v {
			zero = zero && x == 0
		}

		embed.Normalize(v)

		err := embed.Check(embed.ModelID{Dim: len(v)}, 1, [][]float32{v})
		if zero != errors.Is(err, embed.ErrVectorNotUnit) || !zero && err != nil {
			t.Fatalf("zero %t, Check = %v", zero, err)
		}
	})

	v := []float32{1, float32(math.NaN())}
	embed.Normalize(v)

	if v[0] != 1 {
		t.Fatal("Normalize changed a vector that has no direction")
	}
}
