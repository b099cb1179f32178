// Package dot computes the two dot products of the dense channel over stored bytes, with AVX2 where the machine has it and
// in plain Go elsewhere.
//
// Both give the same bits on every machine. The integer product is exact. The float product sums in float64, where the
// product of two float32 values is exact, so that fused and separate multiplication agree, and it sums in one fixed order:
// sixteen interleaved sums, joined in a fixed tree, then the tail one by one.
//
// The integer product also comes for many rows at once, which takes four at a time and asks the memory for what lies ahead.
//
// The functions do not check lengths beyond what slicing does: the row must hold at least as many values as the query.
package dot
