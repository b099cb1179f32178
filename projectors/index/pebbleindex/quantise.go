package pebbleindex

import (
	"encoding/binary"
	"math"
)

// slack widens bounds for the rounding of the float64 operations that lead to them.
const slack = 1e-9

// up32 returns a float32 that is not below x, with room for the rounding of x itself.
func up32(x float64) float32 {
	return math.Nextafter32(float32(x*(1+slack)), math.MaxFloat32)
}

// roundRow makes the int8 row of v.
func roundRow(v []float32) *int8Row {
	var top float64
	for _, x := range v {
		top = max(top, math.Abs(float64(x)))
	}
	r := &int8Row{
		scale:  max(float32(top/math.MaxInt8), math.SmallestNonzeroFloat32),
		values: make([]byte, len(v)),
	}
	scale := float64(r.scale)
	var errSum, normSum float64
	for i, x := range v {
		q := min(max(math.Round(float64(x)/scale), -math.MaxInt8), math.MaxInt8)
		r.values[i] = byte(int8(q)) //nolint:gosec // the bits are kept
		w := q * scale
		normSum += w * w
		errSum += (float64(x) - w) * (float64(x) - w)
	}
	r.err, r.norm = up32(math.Sqrt(errSum)), up32(math.Sqrt(normSum))
	return r
}

func appendFloat(b []byte, x float32) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
}

func appendFloats(b []byte, v []float32) []byte {
	for _, x := range v {
		b = appendFloat(b, x)
	}
	return b
}

// f32 returns a number of a column of float32.
func f32(column []byte, i int) float32 { return math.Float32frombits(u32(column, i)) }

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
func (r *rounded) bounds(v *vectorView, rank int, sum int32) (score, radius float64) {
	e, m := float64(f32(v.errors, rank)), float64(f32(v.norms, rank))
	score = r.scale * float64(f32(v.scales, rank)) * float64(sum)
	return score, r.norm*e + r.err*m + slack*r.norm*(m+e)
}
