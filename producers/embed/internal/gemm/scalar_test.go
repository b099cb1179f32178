package gemm

import (
	"math"
	"testing"
)

// TestGelu covers every number of the range where it matters to the last bits, with lengths that leave some over.
func TestGelu(t *testing.T) {
	t.Parallel()

	for _, k := range Kernels() {
		for _, wide := range []int{1, 7, 8, 24, 29} {
			bias, x, want := make([]float32, wide), make([]float32, 3*wide*100), make([]float64, 3*wide*100)
			for i := range bias {
				bias[i] = float32(i%5)/4 - 0.5
			}

			for i := range x {
				x[i] = 14 * (float32(i)/float32(len(x)) - 0.5)
				v := float64(x[i] + bias[i%wide])
				want[i] = v * 0.5 * math.Erfc(-v/math.Sqrt2)
			}

			ops(t, k).Gelu(x, bias)

			for i, v := range x {
				if math.Abs(float64(v)-want[i]) > 1e-6 {
					t.Fatalf("%s, %d wide: element %d is %g, want %g", k, wide, i, v, want[i])
				}
			}
		}

		x := make([]float32, 8)
		for i := range x {
			x[i] = float32(math.NaN())
		}

		ops(t, k).Gelu(x, make([]float32, 8))

		for _, v := range x {
			if v == v {
				t.Errorf("%s: gelu(NaN) = %g, want NaN", k, v)
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	t.Parallel()

	for _, k := range Kernels() {
		for n := 1; n < 40; n++ {
			row, want := make([]float32, n), make([]float64, n)

			var sum float64

			for i := range row {
				row[i] = float32((i*i*7+n)%23)*3 - 20 // Some are too small beside the others to count.
				want[i] = math.Exp(float64(row[i]))
				sum += want[i]
			}

			ops(t, k).Softmax(row)

			for i, v := range row {
				if math.Abs(float64(v)-want[i]/sum) > 1e-6 {
					t.Fatalf("%s, %d numbers: element %d is %g, want %g", k, n, i, v, want[i]/sum)
				}
			}
		}

		for _, at := range []int{0, 9} {
			row := make([]float32, 10)
			row[at] = float32(math.NaN())
			ops(t, k).Softmax(row)

			for _, v := range row {
				if v == v {
					t.Errorf("%s: %g in a row with NaN", k, v)
				}
			}
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
