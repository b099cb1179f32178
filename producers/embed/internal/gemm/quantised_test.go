package gemm

import (
	"math"
	"testing"
)

// TestMulQuantised has every byte, another scale for each column, and more than one panel.
func TestMulQuantised(t *testing.T) {
	t.Parallel()

	const rows, cols, m = 37, 48, 5

	data, scales, a := make([]byte, rows*cols), make([]float32, cols), make([]float32, m*rows)
	for i := range data {
		data[i] = byte(i * 7)
	}

	for i := range scales {
		scales[i] = float32(i+1) / 1024
	}

	for i := range a {
		a[i] = float32(i%13)/13 - 0.5
	}

	b, ok := NewQuantised(data, scales, rows, cols)
	if !ok {
		t.Fatal("whole panels are refused")
	}

	for _, k := range Kernels() {
		c := make([]float32, m*cols)
		ops(t, k).MulQuantised(c, cols, a, rows, m, b, make([]float32, rows*panelWidth))

		for i := range c {
			row, col := i/cols, i%cols

			var want float64
			for r := range rows {
				q := int8(data[col/panelWidth*panelWidth*rows+r*panelWidth+col%panelWidth])
				want += float64(a[row*rows+r]) * float64(q) * float64(scales[col])
			}

			if math.Abs(want-float64(c[i])) > 1e-4 {
				t.Fatalf("%s: c[%d][%d] = %g, want %g", k, row, col, c[i], want)
			}
		}
	}
}

func TestNewQuantisedRefuses(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ data, scales, rows, cols int }{
		{32, 15, 2, 16}, {31, 16, 2, 16}, {34, 17, 2, 17}, {0, 16, 0, 16}, {0, 0, 2, 0}, {32, 16, -2, -16},
	} {
		if _, ok := NewQuantised(make([]byte, c.data), make([]float32, c.scales), c.rows, c.cols); ok {
			t.Errorf("takes %+v", c)
		}
	}
}
