// Package gemm is the arithmetic of the built-in models: products of matrices, and the few functions of single numbers
// that take a model's time beside them. Each has assembly for the processors that the binary meets most and plain Go
// for the others; which one runs is a [Kernel], chosen once.
//
// Kernels differ from each other by rounding only. One kernel gives the same bits on every machine, and the AVX2 and
// AVX-512 kernels give the same bits as each other.
package gemm
