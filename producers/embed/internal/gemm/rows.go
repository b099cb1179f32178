package gemm

import "math"

// LayerNorm centres and scales each of the n rows of d values (a multiple of 4) of src, into dst, which may be src.
// The square of what is small beside a row is epsilon.
func LayerNorm(dst, src, gain, bias []float32, n, d int, epsilon float64) {
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
		scale := float32(1 / math.Sqrt(float64(variance)+epsilon))

		for j := range y {
			y[j] = (x[j]-mean)*scale*gain[j] + bias[j]
		}
	}
}

// AddBias adds bias to each of the n rows of c.
func AddBias(c, bias []float32, n int) {
	d := len(bias)
	for i := range n {
		row := c[i*d : (i+1)*d]
		for j, v := range bias {
			row[j] += v
		}
	}
}

// AddBiasReLU adds bias to each of the n rows of c and cuts negative sums to zero.
func AddBiasReLU(c, bias []float32, n int) {
	d := len(bias)
	for i := range n {
		row := c[i*d : (i+1)*d]
		for j, v := range bias {
			row[j] = max(row[j]+v, 0)
		}
	}
}

// Add adds src to dst, which is as long at least.
func Add(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}
