//go:build amd64 || arm64

package gemm

// blocksOf4 multiplies four rows at a time, and those that are left over one by one. The shapes were checked.
func blocksOf4(c []float32, ldc int, a []float32, lda, m int, b Panels) {
	for j := 0; j < b.cols; j += panelWidth {
		panel := &b.data[j*b.rows]
		i := 0

		for ; i+4 <= m; i += 4 {
			gemm4x16(uint64(b.rows), &a[i*lda], uint64(lda)*4, panel, &c[i*ldc+j], uint64(ldc)*4)
		}

		for ; i < m; i++ {
			gemm1x16(uint64(b.rows), &a[i*lda], panel, &c[i*ldc+j])
		}
	}
}

// expandable is the number of rows, and panics unless there is room for them: assembly has no bounds checks of its own.
func expandable(dst []float32, src []byte, scales []float32) uint64 {
	rows := len(src) / panelWidth
	if len(dst) < rows*panelWidth || len(scales) < panelWidth {
		panic("gemm: panel is smaller than its shape")
	}

	return uint64(rows)
}
