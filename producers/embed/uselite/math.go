package uselite

import "math"

// layerNorm centres and scales each of the n rows of d values (a multiple of 4) of src, into dst.
func layerNorm(dst, src, gain, bias []float32, n, d int) {
	gain, bias = gain[:d], bias[:d]

	for i := range n {
		x := src[i*d : (i+1)*d]
		y := dst[i*d : (i+1)*d]

		var s0, s1, s2, s3 float32
		for j := 0; j+4 <= d; j += 4 {
			s0 += x[j]
			s1 += x[j+1]
			s2 += x[j+2]
			s3 += x[j+3]
		}

		mean := (s0 + s1 + s2 + s3) / float32(d)
		s0, s1, s2, s3 = 0, 0, 0, 0

		for j := 0; j+4 <= d; j += 4 {
			d0, d1, d2, d3 := x[j]-mean, x[j+1]-mean, x[j+2]-mean, x[j+3]-mean
			s0 += d0 * d0
			s1 += d1 * d1
			s2 += d2 * d2
			s3 += d3 * d3
		}

		variance := (s0 + s1 + s2 + s3) / float32(d)
		scale := float32(1 / math.Sqrt(float64(variance)+1e-6))

		for j := range y {
			y[j] = (x[j]-mean)*scale*gain[j] + bias[j]
		}
	}
}

// addBias adds bias to each of the n rows of c.
func addBias(c, bias []float32, n int) {
	d := len(bias)
	for i := range n {
		row := c[i*d : (i+1)*d]
		for j, v := range bias {
			row[j] += v
		}
	}
}

// addBiasReLU adds bias to each of the n rows of c and cuts negative sums to zero.
func addBiasReLU(c, bias []float32, n int) {
	d := len(bias)
	for i := range n {
		row := c[i*d : (i+1)*d]
		for j, v := range bias {
			row[j] = max(row[j]+v, 0)
		}
	}
}

// softmax turns a row, which is not empty, into weights that sum to 1.
func softmax(row []float32) {
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
