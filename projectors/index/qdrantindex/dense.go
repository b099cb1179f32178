package qdrantindex

import "math"

// float32 values have a relative error of up to 2 to the power of -24.
const halfUnit = 1.0 / (1 << 24)

// nearest returns the bound of the dense channel. The server adds up the products of n pairs in float32, in some order, so
// that it errs by at most n half units of the last place, and a few for what is of second order, of the product of the two
// lengths.
func (s *search) nearest() func(score float32) float64 {
	n := float64(len(s.q.Vector))
	err := 2 * (n + 4) * halfUnit * length(s.q.Vector) * math.Ldexp(1, s.model.norm)
	return func(score float32) float64 { return float64(score) + err }
}
