//go:build !amd64

package dot

// I8 returns the dot product of the int8 values in row with query. It is exact as long as the sum of the absolute products
// fits an int32, which the caller sees to.
func I8(row []byte, query []int16) int32 { return goI8(row, query) }

// F32 returns the dot product of the little-endian float32 values in row with query, summed in float64.
func F32(row []byte, query []float32) float64 { return goF32(row, query) }
