package gemm

// Mul computes c = a * b for m rows: a has b.rows columns and stride lda, c has b.cols columns and stride ldc. Every
// kernel has one of these. It writes nothing when m or a side of b is zero, and panics when a slice is too short.
type Mul func(c []float32, ldc int, a []float32, lda, m int, b Panels)

// panelWidth is the number of columns that the kernels compute at once: one register of AVX-512, two of AVX2.
const panelWidth = 16

// Panels are the right side of a product, cut into panels of 16 columns that each lie together in memory, row after
// row, so that the kernels read it as one stream. Columns beyond the matrix are zero.
type Panels struct {
	data []float32
	rows int
	cols int // A multiple of panelWidth.
}

// Padded is a number of columns rounded up to whole panels.
func Padded(cols int) int { return (cols + panelWidth - 1) / panelWidth * panelWidth }

// NewPanels packs the rows x cols matrix b.
func NewPanels(b []float32, rows, cols int) Panels {
	data := make([]float32, rows*Padded(cols))

	return Fill(data, b, rows, cols, cols)
}

// Fill packs the rows x cols matrix b with stride ldb into data.
func Fill(data, b []float32, rows, cols, ldb int) Panels {
	for j := 0; j < cols; j += panelWidth {
		width := min(panelWidth, cols-j)
		panel := data[j*rows : (j+panelWidth)*rows]

		for r := range rows {
			row := panel[r*panelWidth : (r+1)*panelWidth]
			copy(row, b[r*ldb+j:r*ldb+j+width])
			clear(row[width:])
		}
	}

	return Panels{data: data, rows: rows, cols: Padded(cols)}
}

// FillTransposed packs the transpose of the cols x rows matrix b with stride ldb into data.
func FillTransposed(data, b []float32, rows, cols, ldb int) Panels {
	for j := 0; j < cols; j += panelWidth {
		width := min(panelWidth, cols-j)
		panel := data[j*rows : (j+panelWidth)*rows]

		for x := range width {
			for r, v := range b[(j+x)*ldb : (j+x)*ldb+rows] {
				panel[r*panelWidth+x] = v
			}
		}

		for x := width; x < panelWidth; x++ {
			for r := range rows {
				panel[r*panelWidth+x] = 0
			}
		}
	}

	return Panels{data: data, rows: rows, cols: Padded(cols)}
}

// fits says whether there is anything to compute, and panics unless the slices hold all that a kernel will touch:
// assembly has no bounds checks of its own.
func (b Panels) fits(c []float32, ldc int, a []float32, lda, m int) bool {
	if m <= 0 || b.rows <= 0 || b.cols <= 0 {
		return false
	}

	if lda < 0 || ldc < b.cols || b.cols%panelWidth != 0 ||
		len(a) < (m-1)*lda+b.rows || len(c) < (m-1)*ldc+b.cols || len(b.data) < b.rows*b.cols {
		panic("gemm: matrix is smaller than its shape")
	}

	return true
}

// gemmGeneric computes two rows by four columns at a time: eight sums is what fits into the registers of the
// machines that it is for.
func gemmGeneric(c []float32, ldc int, a []float32, lda, m int, b Panels) {
	if !b.fits(c, ldc, a, lda, m) {
		return
	}

	for j := 0; j < b.cols; j += panelWidth {
		panel := b.data[j*b.rows : (j+panelWidth)*b.rows]
		i := 0

		for ; i+2 <= m; i += 2 {
			a0 := a[i*lda : i*lda+b.rows]
			a1 := a[(i+1)*lda : (i+1)*lda+b.rows]

			for x := 0; x < panelWidth; x += 4 {
				gemm2x4(c[i*ldc+j+x:i*ldc+j+x+4], c[(i+1)*ldc+j+x:(i+1)*ldc+j+x+4], a0, a1, panel[x:])
			}
		}

		if i < m {
			a0 := a[i*lda : i*lda+b.rows]

			for x := 0; x < panelWidth; x += 4 {
				gemm1x4(c[i*ldc+j+x:i*ldc+j+x+4], a0, panel[x:])
			}
		}
	}
}

// gemm2x4 and gemm1x4 are as invisible to the race detector as the assembly is, which would make them fifty times
// slower; what they read and write belongs to one pass alone.
//
//go:norace
func gemm2x4(c0, c1, a0, a1, panel []float32) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32

	a1 = a1[:len(a0)]
	for k, x := range a0 {
		y := a1[k]
		b := (*[4]float32)(panel[k*panelWidth:])
		s00 += x * b[0]
		s01 += x * b[1]
		s02 += x * b[2]
		s03 += x * b[3]
		s10 += y * b[0]
		s11 += y * b[1]
		s12 += y * b[2]
		s13 += y * b[3]
	}

	c0[0], c0[1], c0[2], c0[3] = s00, s01, s02, s03
	c1[0], c1[1], c1[2], c1[3] = s10, s11, s12, s13
}

//go:norace
func gemm1x4(c, a, panel []float32) {
	var s0, s1, s2, s3 float32

	for k, x := range a {
		b := (*[4]float32)(panel[k*panelWidth:])
		s0 += x * b[0]
		s1 += x * b[1]
		s2 += x * b[2]
		s3 += x * b[3]
	}

	c[0], c[1], c[2], c[3] = s0, s1, s2, s3
}
