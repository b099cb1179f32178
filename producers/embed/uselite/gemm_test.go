package uselite

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestGemm compares every kernel with sums in float64, on shapes that leave rows and columns over, with strides wider
// than the matrices, and checks that nothing beside the result is touched.
func TestGemm(t *testing.T) {
	t.Parallel()

	for _, k := range Kernels() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()

			mul := gemmOf(k)

			rapid.Check(t, func(t *rapid.T) {
				m := rapid.IntRange(0, 19).Draw(t, "m")
				rows := rapid.IntRange(1, 70).Draw(t, "rows")
				cols := rapid.IntRange(1, 50).Draw(t, "cols")
				lda := rows + rapid.IntRange(0, 3).Draw(t, "lda")
				ldc := padded(cols) + rapid.IntRange(0, 3).Draw(t, "ldc")
				seed := rapid.Uint32().Draw(t, "seed")
				next := func() float32 {
					seed = seed*1664525 + 1013904223

					return float32(seed>>8)/(1<<24) - 0.5
				}

				a, b := make([]float32, m*lda), make([]float32, rows*cols)
				for i := range a {
					a[i] = next()
				}

				for i := range b {
					b[i] = next()
				}

				const untouched = 42

				c := make([]float32, m*ldc+5)
				for i := range c {
					c[i] = untouched
				}

				mul(c, ldc, a, lda, m, newPanels(b, rows, cols))

				for i := range c {
					row, col := i/ldc, i%ldc

					var want float64

					switch {
					case row >= m || col >= padded(cols):
						want = untouched
					case col < cols:
						for r := range rows {
							want += float64(a[row*lda+r]) * float64(b[r*cols+col])
						}
					}

					if math.Abs(want-float64(c[i])) > 1e-5 {
						t.Fatalf("%d x %d x %d: c[%d][%d] = %g, want %g", m, rows, cols, row, col, c[i], want)
					}
				}
			})
		})
	}
}

func TestGemmRefusesShortSlices(t *testing.T) {
	t.Parallel()

	b := newPanels(make([]float32, 8*16), 8, 16)

	for _, k := range Kernels() {
		mul := gemmOf(k)
		panics := func(c, a []float32, ldc int) (did bool) {
			defer func() { did = recover() != nil }()

			mul(c, ldc, a, 8, 4, b)

			return false
		}

		if panics(make([]float32, 64), make([]float32, 32), 16) {
			t.Errorf("%s panics on slices that are long enough", k)
		}

		if !panics(make([]float32, 63), make([]float32, 32), 16) ||
			!panics(make([]float32, 64), make([]float32, 31), 16) ||
			!panics(make([]float32, 64), make([]float32, 32), 15) {
			t.Errorf("%s takes slices that are too short", k)
		}
	}
}

func TestFillPanelsTransposed(t *testing.T) {
	t.Parallel()

	const rows, cols = 5, 18

	b, turned := make([]float32, rows*cols), make([]float32, cols*rows)
	for r := range rows {
		for c := range cols {
			b[r*cols+c] = float32(r*100 + c)
			turned[c*rows+r] = b[r*cols+c]
		}
	}

	want := newPanels(b, rows, cols)
	data := make([]float32, rows*padded(cols))

	for i := range data {
		data[i] = -1 // What an earlier pass left.
	}

	got := fillPanelsTransposed(data, turned, rows, cols, rows)
	for i := range want.data {
		if want.data[i] != got.data[i] {
			t.Fatalf("element %d is %g, want %g", i, got.data[i], want.data[i])
		}
	}
}

func TestExp(t *testing.T) {
	t.Parallel()

	for x := float32(0); x > -100; x -= 0.0137 {
		got, want := float64(exp(x)), math.Exp(float64(x))
		if x < -87 && got == 0 {
			continue
		}

		if math.Abs(got-want) > 3e-7*want {
			t.Fatalf("exp(%g) = %g, want %g", x, got, want)
		}
	}

	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		if got := exp(float32(x)); got == got {
			t.Errorf("exp(%g) = %g, want NaN", x, got)
		}
	}

	if exp(float32(math.Inf(-1))) != 0 {
		t.Error("exp(-Inf) is not 0")
	}
}
