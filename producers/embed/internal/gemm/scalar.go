package gemm

import "math"

// softmaxGeneric turns a row, which is not empty, into weights that sum to 1.
func softmaxGeneric(row []float32) {
	top := row[0]
	for _, v := range row {
		top = max(top, v)
	}

	var sum float32

	for i, v := range row {
		e := exp(v - top)
		row[i] = e
		sum += e
	}

	scale := 1 / sum
	for i := range row {
		row[i] *= scale
	}
}

// exp is e to the power of x for x <= 0, accurate to about 2 units in the last place: the range is reduced by powers
// of two, and a polynomial of degree 6 does the rest. NaN and +Inf give NaN.
func exp(x float32) float32 {
	if x < -87 {
		return 0
	}

	if !(x <= 0) {
		return float32(math.NaN())
	}

	const (
		log2e  = 1.44269504088896341
		ln2Hi  = 0.693359375
		ln2Lo  = -2.12194440e-4
		offset = 127 // Of the exponent in the bits of a float32.
	)

	n := float32(int32(x*log2e - 0.5)) // The nearest whole number, for x <= 0.
	f := (x - n*ln2Hi) - n*ln2Lo
	p := float32(1.9875691500e-4)
	p = p*f + 1.3981999507e-3
	p = p*f + 8.3334519073e-3
	p = p*f + 4.1665795894e-2
	p = p*f + 1.6666665459e-1
	p = p*f + 5.0000001201e-1

	return (p*f*f + f + 1) * math.Float32frombits(uint32(int32(n)+offset)<<23)
}

// geluGeneric is Ops.Gelu one number after the other.
func geluGeneric(x, bias []float32) {
	for len(x) >= len(bias) && len(bias) > 0 {
		for i, b := range bias {
			x[i] = gelu(x[i] + b)
		}

		x = x[len(bias):]
	}
}

// gelu has the probability by formula 7.1.26 of Abramowitz and Stegun, which is exact to 1.5e-7: a polynomial in
// 1/(1+p|v|) times a bell curve is the smaller of the two tails. The factors hold the halves and roots that its
// argument and its scale differ by.
func gelu(v float32) float32 {
	size := v
	if v < 0 {
		size = -v
	}

	t := 1 / (1 + geluP*size)
	tail := ((((geluA5*t+geluA4)*t+geluA3)*t+geluA2)*t + geluA1) * t * exp(-0.5*v*v)

	if v < 0 {
		return v * tail
	}

	return v * (1 - tail)
}

const (
	geluP  = 0.3275911 / math.Sqrt2
	geluA1 = 0.254829592 / 2
	geluA2 = -0.284496736 / 2
	geluA3 = 1.421413741 / 2
	geluA4 = -1.453152027 / 2
	geluA5 = 1.061405429 / 2
)
