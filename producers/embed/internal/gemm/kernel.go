package gemm

import (
	"errors"
	"strconv"
)

// ErrUnavailable is returned by [Choose] for instructions that this processor, operating system or build lacks.
var ErrUnavailable = errors.New("kernel is not available on this machine")

// Kernel is a set of instructions to compute with.
type Kernel uint8

const (
	// Auto is the fastest that the machine has.
	Auto Kernel = iota
	// Generic is plain Go and runs everywhere.
	Generic
	// AVX2 needs an amd64 processor with AVX2 and FMA.
	AVX2
	// AVX512 needs an amd64 processor with AVX-512 F, DQ and VL beside what AVX2 needs. It gives the same bits as AVX2.
	AVX512
	// NEON is what every arm64 processor has.
	NEON
)

// String names the kernel, for logs and benchmarks.
func (k Kernel) String() string {
	switch k {
	case Auto:
		return "auto"
	case Generic:
		return "generic"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	case NEON:
		return "neon"
	}

	return "kernel(" + strconv.Itoa(int(k)) + ")"
}

// Ops are what a kernel computes.
type Ops struct {
	// Kernel is whose they are, never Auto.
	Kernel Kernel
	// Mul multiplies matrices.
	Mul Mul
	// Gelu adds the bias to each row of x, as wide as the bias, and replaces every sum v by v times the probability
	// that a normal number is below v. It is exact to a few units of 1e-7, and keeps NaN.
	Gelu func(x, bias []float32)
	// Softmax turns a row, which is not empty, into weights that sum to 1. A row with a NaN becomes NaN.
	Softmax func(row []float32)
	// expand writes rows of 16 signed bytes, times the scale of their column, to dst, which is as long at least.
	expand func(dst []float32, src []byte, scales []float32)
}

// Kernels lists what this machine can run, the slowest first. It is never empty.
func Kernels() []Kernel {
	var list []Kernel

	for _, k := range []Kernel{Generic, AVX2, AVX512, NEON} {
		if _, ok := of(k); ok {
			list = append(list, k)
		}
	}

	return list
}

// Choose returns the code of a kernel; the only error is ErrUnavailable.
func Choose(k Kernel) (Ops, error) {
	if k == Auto {
		list := Kernels()
		k = list[len(list)-1]
	}

	ops, ok := of(k)
	if !ok {
		return Ops{}, ErrUnavailable
	}

	return ops, nil
}

func generic() Ops {
	return Ops{Kernel: Generic, Mul: gemmGeneric, Gelu: geluGeneric, Softmax: softmaxGeneric, expand: expandGeneric}
}
