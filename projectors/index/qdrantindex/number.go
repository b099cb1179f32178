package qdrantindex

import "math"

// split cuts a number into its high and its low half. Both order as the number does, the high one first.
func split(x int64) (high, low int64) { return x >> 32, x & math.MaxUint32 }

func join(high, low int64) int64 { return high<<32 | low }

// signed and unsigned carry a number without a sign through a field with one.
func signed(x uint64) int64 { return int64(x) } //nolint:gosec // the bits are what is meant.

func unsigned(x int64) uint64 { return uint64(x) } //nolint:gosec // the bits are what is meant.

// ordered carries a number without a sign through a field with one, in the same order.
func ordered(x uint64) int64 { return signed(x ^ 1<<63) }

func disordered(x int64) uint64 { return unsigned(x) ^ 1<<63 }
