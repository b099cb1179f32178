package gemm

// of returns the code of a kernel, false if this machine cannot run it. Every arm64 processor that Go runs on has NEON.
func of(k Kernel) (Ops, bool) {
	switch k {
	case Generic:
		return generic(), true
	case NEON:
		return Ops{Kernel: k, Mul: gemmNEON, Gelu: geluGeneric, Softmax: softmaxGeneric, expand: expandNEON}, true
	case Auto, AVX2, AVX512:
	}

	return Ops{}, false
}

// The assembly computes one panel of 16 columns for 4 rows of a or for 1. k is at least 1; strides are in bytes.

//go:noescape
func gemm4x16(k uint64, a *float32, ldaBytes uint64, b, c *float32, ldcBytes uint64)

//go:noescape
func gemm1x16(k uint64, a, b, c *float32)

//go:noescape
func expandNEONx16(dst *float32, src *byte, scales *float32, rows uint64)

func gemmNEON(c []float32, ldc int, a []float32, lda, m int, b Panels) {
	if b.fits(c, ldc, a, lda, m) {
		blocksOf4(c, ldc, a, lda, m, b)
	}
}

func expandNEON(dst []float32, src []byte, scales []float32) {
	if rows := expandable(dst, src, scales); rows > 0 {
		expandNEONx16(&dst[0], &src[0], &scales[0], rows)
	}
}
