package uselite

import (
	"errors"
	"strconv"
)

// ErrKernelUnavailable is returned by New when WithKernel asks for instructions that this processor, operating
// system or build lacks.
var ErrKernelUnavailable = errors.New("kernel is not available on this machine")

// Kernel is a way to multiply matrices, which is nearly all the work of the model.
type Kernel uint8

const (
	// KernelAuto is the fastest that the machine has.
	KernelAuto Kernel = iota
	// KernelGeneric is plain Go and runs everywhere.
	KernelGeneric
	// KernelAVX2 needs an amd64 processor with AVX2 and FMA.
	KernelAVX2
	// KernelAVX512 needs an amd64 processor with AVX-512 F, DQ and VL beside what KernelAVX2 needs. It gives the
	// same bits as KernelAVX2.
	KernelAVX512
)

// String names the kernel, for logs and benchmarks.
func (k Kernel) String() string {
	switch k {
	case KernelAuto:
		return "auto"
	case KernelGeneric:
		return "generic"
	case KernelAVX2:
		return "avx2"
	case KernelAVX512:
		return "avx512"
	}

	return "kernel(" + strconv.Itoa(int(k)) + ")"
}

// Kernels lists what this machine can run, the slowest first. It is never empty.
func Kernels() []Kernel {
	var list []Kernel

	for _, k := range []Kernel{KernelGeneric, KernelAVX2, KernelAVX512} {
		if gemmOf(k) != nil {
			list = append(list, k)
		}
	}

	return list
}

// choose resolves KernelAuto and finds the code of a kernel.
func choose(k Kernel) (Kernel, gemm, error) {
	if k == KernelAuto {
		list := Kernels()
		k = list[len(list)-1]
	}

	mul := gemmOf(k)
	if mul == nil {
		return k, nil, ErrKernelUnavailable
	}

	return k, mul, nil
}
