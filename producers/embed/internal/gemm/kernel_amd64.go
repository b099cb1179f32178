package gemm

import "golang.org/x/sys/cpu"

// of returns the code of a kernel, false if this machine cannot run it. The flags of package cpu also cover whether
// the operating system saves the wide registers.
func of(k Kernel) (Ops, bool) {
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA

	switch k {
	case Generic:
		return generic(), true
	case AVX2:
		return Ops{Kernel: k, Mul: gemmAVX2, Gelu: geluAVX2, Softmax: softmaxAVX2, expand: expandAVX2}, avx2
	case AVX512:
		return Ops{Kernel: k, Mul: gemmAVX512, Gelu: geluAVX2, Softmax: softmaxAVX2, expand: expandAVX512},
			avx2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL
	case Auto, NEON:
	}

	return Ops{}, false
}

// The assembly computes one panel of 16 columns for 4, 8 or 1 rows of a. k is at least 1; strides are in bytes.

//go:noescape
func gemm4x16(k uint64, a *float32, ldaBytes uint64, b, c *float32, ldcBytes uint64)

//go:noescape
func gemm1x16(k uint64, a, b, c *float32)

//go:noescape
func gemm8x16z(k uint64, a *float32, ldaBytes uint64, b, c *float32, ldcBytes uint64)

//go:noescape
func gemm1x16z(k uint64, a, b, c *float32)

func gemmAVX2(c []float32, ldc int, a []float32, lda, m int, b Panels) {
	if b.fits(c, ldc, a, lda, m) {
		blocksOf4(c, ldc, a, lda, m, b)
	}
}

// gemmAVX512 gives the same bits as gemmAVX2: the blocks of 8 and of 4 rows both add in the order of k, and the rows
// that are left over, m modulo 4 in both, are split into the same four partial sums.
func gemmAVX512(c []float32, ldc int, a []float32, lda, m int, b Panels) {
	if !b.fits(c, ldc, a, lda, m) {
		return
	}

	for j := 0; j < b.cols; j += panelWidth {
		panel := &b.data[j*b.rows]
		i := 0

		for ; i+8 <= m; i += 8 {
			gemm8x16z(uint64(b.rows), &a[i*lda], uint64(lda)*4, panel, &c[i*ldc+j], uint64(ldc)*4)
		}

		if i+4 <= m {
			gemm4x16(uint64(b.rows), &a[i*lda], uint64(lda)*4, panel, &c[i*ldc+j], uint64(ldc)*4)
			i += 4
		}

		for ; i < m; i++ {
			gemm1x16z(uint64(b.rows), &a[i*lda], panel, &c[i*ldc+j])
		}
	}
}
