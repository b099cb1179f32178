package gemm

// The assembly takes eight numbers at a time: n is a multiple of 8 and above 0.

//go:noescape
func geluAVX2x8(x, bias *float32, n uint64)

//go:noescape
func maxAVX2x8(x *float32, n uint64) float32

// expAVX2x8 replaces each number by e to the power of what it is above top, and returns the sum.
//
//go:noescape
func expAVX2x8(x *float32, n uint64, top float32) float32

func geluAVX2(x, bias []float32) {
	whole := len(bias) &^ 7

	for len(x) >= len(bias) && len(bias) > 0 {
		if whole > 0 {
			geluAVX2x8(&x[0], &bias[0], uint64(whole))
		}

		for i := whole; i < len(bias); i++ {
			x[i] = gelu(x[i] + bias[i])
		}

		x = x[len(bias):]
	}
}

func softmaxAVX2(row []float32) {
	whole := len(row) &^ 7
	if whole == 0 {
		softmaxGeneric(row)

		return
	}

	top := maxAVX2x8(&row[0], uint64(whole))
	for _, v := range row[whole:] {
		top = max(top, v)
	}

	sum := expAVX2x8(&row[0], uint64(whole), top)

	for i := whole; i < len(row); i++ {
		row[i] = exp(row[i] - top)
		sum += row[i]
	}

	scale := 1 / sum
	for i := range row {
		row[i] *= scale
	}
}

//go:noescape
func expandAVX2x16(dst *float32, src *byte, scales *float32, rows uint64)

//go:noescape
func expandAVX512x16(dst *float32, src *byte, scales *float32, rows uint64)

func expandAVX2(dst []float32, src []byte, scales []float32) {
	if rows := expandable(dst, src, scales); rows > 0 {
		expandAVX2x16(&dst[0], &src[0], &scales[0], rows)
	}
}

func expandAVX512(dst []float32, src []byte, scales []float32) {
	if rows := expandable(dst, src, scales); rows > 0 {
		expandAVX512x16(&dst[0], &src[0], &scales[0], rows)
	}
}
