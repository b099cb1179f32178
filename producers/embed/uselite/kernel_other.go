//go:build !amd64

package uselite

// gemmOf returns the code of a kernel, nil if this machine cannot run it.
func gemmOf(k Kernel) gemm {
	if k == KernelGeneric {
		return gemmGeneric
	}

	return nil
}
