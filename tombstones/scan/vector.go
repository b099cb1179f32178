package scan

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	// MinVector is the least number of values of a vector, and the least run of
	// them that is found for certain.
	MinVector = 8
	// MaxVector is the largest number of values of a vector.
	MaxVector = 16384

	// A window of this many floats at every such step lies in each run of
	// MinVector values.
	floatWindow = 4
	intWindow   = MinVector
)

// addVector adds the windows of a vector in every form. Windows of few distinct
// values would be met in any file and are left out.
func (p *patterns) addVector(index, at int, v []float64) error {
	bad := func(why string) error { return &InputError{What: "vector", Index: at, Why: why} }
	if len(v) < MinVector || len(v) > MaxVector {
		return bad(fmt.Sprintf("does not have %d to %d values", MinVector, MaxVector))
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(float64(float32(x)), 0) {
			return bad("has a value that is no finite float32")
		}
	}
	added := false
	for i := 0; i+floatWindow <= len(v); i += floatWindow {
		if w := v[i : i+floatWindow]; distinct(w) == floatWindow {
			added = true
			p.addFloats(index, w)
		}
	}
	if !added {
		return bad("has too few different values to be told from others")
	}
	q := roundToInt8(v)
	for i := 0; i+intWindow <= len(q); i++ {
		if w := q[i : i+intWindow]; distinct(w) > intWindow/2 {
			p.add(index, "int8", w)
		}
	}
	return nil
}

func (p *patterns) addFloats(index int, v []float64) {
	var f32le, f32be, f64le, f64be, widele, widebe []byte
	for _, x := range v {
		single, double, wide := math.Float32bits(float32(x)), math.Float64bits(x), math.Float64bits(float64(float32(x)))
		f32le, f32be = binary.LittleEndian.AppendUint32(f32le, single), binary.BigEndian.AppendUint32(f32be, single)
		f64le, f64be = binary.LittleEndian.AppendUint64(f64le, double), binary.BigEndian.AppendUint64(f64be, double)
		widele, widebe = binary.LittleEndian.AppendUint64(widele, wide), binary.BigEndian.AppendUint64(widebe, wide)
	}
	p.add(index, "float32 le", f32le)
	p.add(index, "float32 be", f32be)
	p.add(index, "float64 le", f64le)
	p.add(index, "float64 be", f64be)
	// Of numbers that were float32 before they were float64.
	p.add(index, "float64 le", widele)
	p.add(index, "float64 be", widebe)
}

// roundToInt8 scales a vector so that its largest value is 127, as the index
// of the views does. How long the vector is makes no difference.
func roundToInt8(v []float64) []byte {
	var top float64
	for _, x := range v {
		top = max(top, math.Abs(float64(float32(x))))
	}
	scale := float64(max(float32(top/math.MaxInt8), math.SmallestNonzeroFloat32))
	out := make([]byte, len(v))
	for i, x := range v {
		q := min(max(math.Round(float64(float32(x))/scale), -math.MaxInt8), math.MaxInt8)
		out[i] = byte(int8(q)) //nolint:gosec // The bits are kept.
	}
	return out
}

// distinct counts different values.
func distinct[T comparable](w []T) int {
	seen := make(map[T]struct{}, len(w))
	for _, x := range w {
		seen[x] = struct{}{}
	}
	return len(seen)
}
