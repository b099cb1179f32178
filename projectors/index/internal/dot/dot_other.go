//go:build !amd64

package dot

// I8 returns the dot product of the int8 values in row with query. It is exact as long as the sum of the absolute products
// fits an int32, which the caller sees to.
func I8(row []byte, query []int16) int32 { return goI8(row, query) }

// I8Rows puts in each of sums what [I8] returns for one of the rows, which stand one after the other, each of the length of
// query. It panics when there are fewer rows than sums.
func I8Rows(rows []byte, query []int16, sums []int32) { goI8Rows(rows, query, sums) }

// F32 returns the dot product of the little-endian float32 values in row with query, summed in float64.
func F32(row []byte, query []float32) float64 { return goF32(row, query) }
