package gemm

// Quantised is the right side of a product as a file of weights holds it: panels of 16 columns like those of [Panels],
// each number a signed byte that its column's scale multiplies. It is expanded a panel at a time, for all rows of a
// product, so that a model's weights cross the memory bus as bytes and its floats stay in the processor's cache.
type Quantised struct {
	// Data has rows x cols bytes, the panels one after the other.
	Data []byte
	// Scales has one number per column.
	Scales     []float32
	Rows, Cols int
}

// NewQuantised refuses, with false, what is not whole panels or too short.
func NewQuantised(data []byte, scales []float32, rows, cols int) (Quantised, bool) {
	ok := rows > 0 && cols > 0 && cols%panelWidth == 0 && len(data) == rows*cols && len(scales) == cols

	return Quantised{Data: data, Scales: scales, Rows: rows, Cols: cols}, ok
}

// MulQuantised is Mul with b as bytes. The buffer holds one panel, 16 floats for each row of b.
func (o Ops) MulQuantised(c []float32, ldc int, a []float32, lda, m int, b Quantised, buffer []float32) {
	panel := Panels{data: buffer[:b.Rows*panelWidth], rows: b.Rows, cols: panelWidth}

	for j := 0; j < b.Cols; j += panelWidth {
		o.expand(panel.data, b.Data[j*b.Rows:(j+panelWidth)*b.Rows], b.Scales[j:j+panelWidth])
		o.Mul(c[j:], ldc, a, lda, m, panel)
	}
}

// expandGeneric is as invisible to the race detector as the assembly, for the reason of gemm2x4.
//
//go:norace
func expandGeneric(dst []float32, src []byte, scales []float32) {
	scales = scales[:panelWidth]

	for r := 0; r+panelWidth <= len(src); r += panelWidth {
		to, from := dst[r:r+panelWidth], src[r:r+panelWidth]
		for i, scale := range scales {
			to[i] = float32(int8(from[i])) * scale
		}
	}
}
