package dot

import "golang.org/x/sys/cpu"

//go:noescape
func avx2I8(row *byte, query *int16, n int) int32

//go:noescape
func avx2I8x4(rows *byte, stride int, query *int16, n int, sums *int32)

//go:noescape
func avx2F32(row *byte, query *float32, n int) float64

// I8 returns the dot product of the int8 values in row with query. It is exact as long as the sum of the absolute products
// fits an int32, which the caller sees to.
func I8(row []byte, query []int16) int32 {
	n := len(query) &^ (blockI8 - 1)
	if n == 0 || !cpu.X86.HasAVX2 {
		return goI8(row, query)
	}
	row = row[:len(query)]
	return avx2I8(&row[0], &query[0], n) + tailI8(row[n:], query[n:])
}

// I8Rows puts in each of sums what [I8] returns for one of the rows, which stand one after the other, each of the length of
// query. Several rows at a time cost less than one by one. It panics when there are fewer rows than sums.
func I8Rows(rows []byte, query []int16, sums []int32) {
	dim := len(query)
	n := dim &^ (blockI8 - 1)
	if n == 0 || !cpu.X86.HasAVX2 {
		goI8Rows(rows, query, sums)
		return
	}
	rows = rows[:dim*len(sums)]
	for len(sums) >= rowsI8 {
		avx2I8x4(&rows[0], dim, &query[0], n, &sums[0])
		for i := range rowsI8 {
			sums[i] += tailI8(rows[i*dim+n:], query[n:])
		}
		rows, sums = rows[rowsI8*dim:], sums[rowsI8:]
	}
	for i := range sums {
		sums[i] = I8(rows[i*dim:], query)
	}
}

// F32 returns the dot product of the little-endian float32 values in row with query, summed in float64.
func F32(row []byte, query []float32) float64 {
	n := len(query) &^ (blockF32 - 1)
	if n == 0 || !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return goF32(row, query)
	}
	row = row[:4*len(query)]
	return tailF32(avx2F32(&row[0], &query[0], n), row[4*n:], query[n:])
}
