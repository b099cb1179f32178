package gemm

import (
	"errors"
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

			mul := ops(t, k).Mul

			rapid.Check(t, func(t *rapid.T) {
				m := rapid.IntRange(0, 19).Draw(t, "m")
				rows := rapid.IntRange(1, 70).Draw(t, "rows")
				cols := rapid.IntRange(1, 50).Draw(t, "cols")
				lda := rows + rapid.IntRange(0, 3).Draw(t, "lda")
				ldc := Padded(cols) + rapid.IntRange(0, 3).Draw(t, "ldc")
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

				mul(c, ldc, a, lda, m, NewPanels(b, rows, cols))

				for i := range c {
					row, col := i/ldc, i%ldc

					var want float64

					switch {
					case row >= m || col >= Padded(cols):
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

	b := NewPanels(make([]float32, 8*16), 8, 16)

	for _, k := range Kernels() {
		mul := ops(t, k).Mul
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

	want := NewPanels(b, rows, cols)
	data := make([]float32, rows*Padded(cols))

	for i := range data {
		data[i] = -1 // What an earlier pass left.
	}

	got := FillTransposed(data, turned, rows, cols, rows)
	for i := range want.data {
		if want.data[i] != got.data[i] {
			t.Fatalf("element %d is %g, want %g", i, got.data[i], want.data[i])
		}
	}
}

func ops(tb testing.TB, k Kernel) Ops {
	tb.Helper()

	o, err := Choose(k)
	if err != nil {
		tb.Fatal(err)
	}

	return o
}

func TestChoose(t *testing.T) {
	t.Parallel()

	available := map[Kernel]bool{Auto: true}
	for _, k := range Kernels() {
		available[k] = true
	}

	for k := range NEON + 2 {
		o, err := Choose(k)
		if available[k] != (err == nil) || err != nil && !errors.Is(err, ErrUnavailable) {
			t.Errorf("Choose(%s) = %v", k, err)
		}

		if err == nil && o.Kernel != k && k != Auto {
			t.Errorf("Choose(%s) has the code of %s", k, o.Kernel)
		}
	}
}
