package pebbleindex

import (
	"encoding/binary"
	"math"
)

// An int8 row is three float32 values, little endian, and then one byte for each dimension.
const (
	offScale = 0
	offError = 4
	offNorm  = 8
	offBytes = 12
)

// slack widens bounds for the rounding of the float64 operations that lead to them.
const slack = 1e-9

// up32 returns a float32 that is not below x, with room for the rounding of x itself.
func up32(x float64) float32 {
	return math.Nextafter32(float32(x*(1+slack)), math.MaxFloat32)
}

// appendInt8 appends the int8 row of v.
func appendInt8(b []byte, v []float32) []byte {
	var top float64
	for _, x := range v {
		top = max(top, math.Abs(float64(x)))
	}
	scale := float64(max(float32(top/math.MaxInt8), math.SmallestNonzeroFloat32))
	at := len(b)
	b = append(b, make([]byte, offBytes)...)
	var errSum, normSum float64
	for _, x := range v {
		q := min(max(math.Round(float64(x)/scale), -math.MaxInt8), math.MaxInt8)
		b = append(b, byte(int8(q))) //nolint:gosec // the bits are kept
		w := q * scale
		normSum += w * w
		errSum += (float64(x) - w) * (float64(x) - w)
	}
	put := func(off int, f float32) { binary.LittleEndian.PutUint32(b[at+off:], math.Float32bits(f)) }
	put(offScale, float32(scale))
	put(offError, up32(math.Sqrt(errSum)))
	put(offNorm, up32(math.Sqrt(normSum)))
	return b
}

func appendFloats(b []byte, v []float32) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func loadFloat(b []byte, off int) float64 {
	return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[off:])))
}

// rounded is a query prepared for the scan.
type rounded struct {
	values []int16
	scale  float64
	norm   float64 // of the query as given
	err    float64 // norm of what rounding took away
}

// roundQuery rounds v to as many bits as the exact 32-bit sum of products leaves room for.
func roundQuery(v []float32) rounded {
	limit := min(math.MaxInt16, math.MaxInt32/(math.MaxInt8*len(v)))
	var top float64
	for _, x := range v {
		top = max(top, math.Abs(float64(x)))
	}
	r := rounded{values: make([]int16, len(v)), scale: top / float64(limit)}
	var errSum, normSum float64
	for i, x := range v {
		p := math.Round(float64(x) / r.scale)
		r.values[i] = int16(min(max(p, float64(-limit)), float64(limit)))
		d := float64(x) - float64(r.values[i])*r.scale
		errSum += d * d
		normSum += float64(x) * float64(x)
	}
	r.norm = math.Sqrt(normSum) * (1 + slack)
	r.err = math.Sqrt(errSum) * (1 + slack)
	return r
}

// bounds returns the approximate score of an int8 row whose sum of integer products with the query is sum, and how far the
// true score may be from it.
func (r *rounded) bounds(row []byte, sum int32) (score, radius float64) {
	e, m := loadFloat(row, offError), loadFloat(row, offNorm)
	score = r.scale * loadFloat(row, offScale) * float64(sum)
	return score, r.norm*e + r.err*m + slack*r.norm*(m+e)
}
