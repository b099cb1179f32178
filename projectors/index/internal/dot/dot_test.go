package dot

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func encode(values []float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// dims covers every remainder of both block sizes and the usual sizes of embeddings.
func dims(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(0, 130), rapid.SampledFrom([]int{384, 512, 768, 1536, 4095})).Draw(t, "dim")
}

func TestI8EqualsDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := dims(t)
		row := rapid.SliceOfN(rapid.Byte(), n, n+3).Draw(t, "row")
		limit := int16(min(math.MaxInt16, math.MaxInt32/(128*max(n, 1))))
		query := rapid.SliceOfN(rapid.Int16Range(-limit, limit), n, n).Draw(t, "query")
		var want int64
		for i, q := range query {
			want += int64(int8(row[i])) * int64(q)
		}
		if got := I8(row, query); int64(got) != want {
			t.Fatalf("I8 of %d values is %d, want %d", n, got, want)
		}
		if got := goI8(row, query); int64(got) != want {
			t.Fatalf("plain twin of %d values is %d, want %d", n, got, want)
		}
	})
}

func TestI8RowsEqualsI8(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, count := dims(t), rapid.IntRange(0, 9).Draw(t, "rows")
		query := rapid.SliceOfN(rapid.Int16Range(-4000, 4000), n, n).Draw(t, "query")
		limit := int16(min(math.MaxInt16, math.MaxInt32/(128*max(n, 1))))
		for i := range query {
			query[i] = min(max(query[i], -limit), limit)
		}
		rows := make([]byte, n*count)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for i := range rows {
			rows[i] = byte(r.Uint32())
		}
		sums, plain := make([]int32, count+1), make([]int32, count)
		I8Rows(rows, query, sums[:count])
		goI8Rows(rows, query, plain)
		for i := range count {
			if want := goI8(rows[i*n:], query); sums[i] != want || plain[i] != want {
				t.Fatalf("row %d of %d: %d, plain twin %d, want %d", i, count, sums[i], plain[i], want)
			}
		}
		if sums[count] != 0 {
			t.Fatal("a sum that was not asked for was written")
		}
	})
}

func TestI8Extremes(t *testing.T) {
	t.Parallel()
	const n = 512
	row, query := make([]byte, n), make([]int16, n)
	for i := range row {
		row[i], query[i] = 0x81, math.MaxInt16 // -127
	}
	if got, want := int64(I8(row, query)), int64(-127)*math.MaxInt16*n; got != want {
		t.Fatalf("I8 of extremes is %d, want %d", got, want)
	}
}

func TestF32TwinsAreBitEqual(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(rapid.Float32Range(-1, 1), rapid.Float32Range(-1e30, 1e30), rapid.Float32Range(-1e-38, 1e-38))
	rapid.Check(t, func(t *rapid.T) {
		n := dims(t)
		a := rapid.SliceOfN(value, n, n).Draw(t, "row")
		b := rapid.SliceOfN(value, n, n).Draw(t, "query")
		// An odd offset shows that no alignment is needed.
		row := append([]byte{1}, encode(a)...)[1:]
		got, want := F32(row, b), goF32(row, b)
		if math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("F32 of %d values is %v, its twin says %v", n, got, want)
		}
		var plain, size float64
		for i := range a {
			p := float64(a[i]) * float64(b[i])
			plain += p
			size += math.Abs(p)
		}
		if math.Abs(got-plain) > 1e-12*size {
			t.Fatalf("F32 of %d values is %v, the definition says %v", n, got, plain)
		}
	})
}

func TestShortRowPanics(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(){
		"I8":   func() { I8(make([]byte, 63), make([]int16, 64)) },
		"rows": func() { I8Rows(make([]byte, 5*64-1), make([]int16, 64), make([]int32, 5)) },
		"F32":  func() { F32(make([]byte, 255), make([]float32, 64)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Fatal("a short row was read past its end")
				}
			}()
			f()
		})
	}
}

func BenchmarkDot(b *testing.B) {
	for _, n := range []int{384, 512} {
		f := make([]float32, n)
		q := make([]int16, n)
		for i := range f {
			f[i], q[i] = float32(i%7)/7, int16(i%100)
		}
		row, small := encode(f), make([]byte, n)
		b.Run(fmt.Sprintf("i8/%d", n), func(b *testing.B) {
			for b.Loop() {
				I8(small, q)
			}
		})
		b.Run(fmt.Sprintf("i8-plain/%d", n), func(b *testing.B) {
			for b.Loop() {
				goI8(small, q)
			}
		})
		block, sums := make([]byte, 64*n), make([]int32, 64)
		b.Run(fmt.Sprintf("i8-rows/%d", n), func(b *testing.B) {
			for b.Loop() {
				I8Rows(block, q, sums)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(sums)), "ns/row")
		})
		b.Run(fmt.Sprintf("f32/%d", n), func(b *testing.B) {
			for b.Loop() {
				F32(row, f)
			}
		})
		b.Run(fmt.Sprintf("f32-plain/%d", n), func(b *testing.B) {
			for b.Loop() {
				goF32(row, f)
			}
		})
	}
}
