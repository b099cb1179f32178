package dot

import (
	"encoding/binary"
	"math"
)

// The numbers of values that the vector kernels take at a time; the rest is summed one by one.
const (
	blockI8  = 32
	rowsI8   = 4 // rows at a time
	blockF32 = 16
)

// goI8 is the plain twin of I8.
func goI8(row []byte, query []int16) int32 {
	row = row[:len(query)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(query); i += 4 {
		s0 += int32(int8(row[i])) * int32(query[i])     //nolint:gosec // the byte is a stored int8
		s1 += int32(int8(row[i+1])) * int32(query[i+1]) //nolint:gosec // the byte is a stored int8
		s2 += int32(int8(row[i+2])) * int32(query[i+2]) //nolint:gosec // the byte is a stored int8
		s3 += int32(int8(row[i+3])) * int32(query[i+3]) //nolint:gosec // the byte is a stored int8
	}
	return s0 + s1 + s2 + s3 + tailI8(row[i:], query[i:])
}

// goI8Rows is the plain twin of I8Rows.
func goI8Rows(rows []byte, query []int16, sums []int32) {
	dim := len(query)
	rows = rows[:dim*len(sums)]
	for i := range sums {
		sums[i] = goI8(rows[i*dim:], query)
	}
}

func tailI8(row []byte, query []int16) int32 {
	var sum int32
	for i, q := range query {
		sum += int32(int8(row[i])) * int32(q) //nolint:gosec // the byte is a stored int8
	}
	return sum
}

// goF32 is the plain twin of F32.
func goF32(row []byte, query []float32) float64 {
	row = row[:4*len(query)]
	var acc [blockF32]float64
	i := 0
	for ; i+blockF32 <= len(query); i += blockF32 {
		for l := range acc {
			acc[l] += float64(loadF32(row[4*(i+l):])) * float64(query[i+l])
		}
	}
	var s [4]float64
	for l := range s {
		s[l] = (acc[l] + acc[4+l]) + (acc[8+l] + acc[12+l])
	}
	return tailF32((s[0]+s[2])+(s[1]+s[3]), row[4*i:], query[i:])
}

func tailF32(sum float64, row []byte, query []float32) float64 {
	for i, q := range query {
		sum += float64(loadF32(row[4*i:])) * float64(q)
	}
	return sum
}

func loadF32(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
