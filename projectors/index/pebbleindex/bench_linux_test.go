package pebbleindex

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/annals-memory/annals/projectors/index"
)

const (
	benchDim   = 512
	benchTerms = 55
	benchBatch = 500
)

// benchDoc makes a document of 55 words with frequencies by Zipf's law over 30,000 words, stop words gone.
func benchDoc(r *rand.Rand, z *rand.Zipf, n int) index.Doc {
	tf := map[uint64]uint16{}
	for range benchTerms {
		tf[z.Uint64()*0x9e3779b97f4a7c15]++
	}
	d := index.Doc{
		Tenant: "acme", Subject: "3f1c9a7e5b2d4860", ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", n),
		Kind: index.Episode, Seq: uint64(n + 1), Session: fmt.Sprintf("session-%012d", n/50),
		Category: fmt.Sprintf("category-%d", n%5), Scope: "scope-default-00",
		Entities: []string{fmt.Sprintf("entity-%09d", r.IntN(1000)), fmt.Sprintf("entity-%09d", r.IntN(1000))},
		Labels:   []string{fmt.Sprintf("label-%010d", r.IntN(100))},
		Trust:    2, OccurredUS: int64(n) * 1e6, ObservedUS: int64(n) * 1e6, ValidToUS: math.MaxInt64, Length: benchTerms,
	}
	for token, n := range tf {
		d.Terms = append(d.Terms, index.Term{Token: token, TF: n})
	}
	return d
}

func benchVector(r *rand.Rand) []float32 {
	v := make([]float32, benchDim)
	var sum float64
	for i := range v {
		x := r.NormFloat64()
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func newZipf(r *rand.Rand) *rand.Zipf { return rand.NewZipf(r, 1.07, 8, 30000) }

func fill(tb testing.TB, ix *Index, db *pebble.DB, n int) {
	tb.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	z := newZipf(r)
	for at := 0; at < n; at += benchBatch {
		w := ix.NewWriter(db)
		for i := at; i < min(at+benchBatch, n); i++ {
			d := benchDoc(r, z, i)
			if err := w.Put(d); err != nil {
				tb.Fatal(err)
			}
			v := index.Vector{Tenant: d.Tenant, Subject: d.Subject, ID: d.ID, Model: "model", Seq: d.Seq, Values: benchVector(r)}
			if err := w.SetVector(v); err != nil {
				tb.Fatal(err)
			}
		}
		b := db.NewBatch()
		if err := w.Flush(b); err != nil {
			tb.Fatal(err)
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			tb.Fatal(err)
		}
	}
}

// threadTime returns the processor time that the calling thread has used, which other work on the machine moves far less
// than the clock. The goroutine must be locked to its thread.
func threadTime(tb testing.TB) time.Duration {
	tb.Helper()
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// openBenchStore opens a store with the settings that the views use.
func openBenchStore(tb testing.TB, cache int64) *pebble.DB {
	tb.Helper()
	c := pebble.NewCache(cache)
	defer c.Unref()
	opts := &pebble.Options{
		FS: vfs.Default, Cache: c, DisableWAL: true, Logger: quiet{}, FormatMajorVersion: pebble.FormatNewest,
		MemTableSize: 32 << 20, LBaseMaxBytes: 256 << 20, MaxOpenFiles: 500, L0CompactionThreshold: 8, L0StopWritesThreshold: 32,
	}
	for i := range opts.Levels {
		opts.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	db, err := pebble.Open(tb.TempDir(), opts)
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	return db
}

// BenchmarkCandidates reports processor time: the median as p50-ms and what lies below 95 of 100 as p95-ms.
func BenchmarkCandidates(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		for _, cache := range []int64{64, 256} {
			b.Run(fmt.Sprintf("docs=%d/cache=%dMB", n, cache), func(b *testing.B) {
				db := openBenchStore(b, cache<<20)
				defer func() { _ = db.Close() }()
				ix := New([]byte{'x'})
				fill(b, ix, db, n)
				if err := db.Flush(); err != nil {
					b.Fatal(err)
				}
				for _, c := range []struct {
					name           string
					dense, lexical bool
					filter         func(f *index.Filter)
				}{
					{"both", true, true, func(*index.Filter) {}},
					{"dense", true, false, func(*index.Filter) {}},
					{"lexical", false, true, func(*index.Filter) {}},
					{"both-narrow", true, true, func(f *index.Filter) { f.Categories = []string{"category-3"} }},
				} {
					b.Run(c.name, func(b *testing.B) {
						runtime.LockOSThread()
						defer runtime.UnlockOSThread()
						r := rand.New(rand.NewPCG(5, 6))
						z := newZipf(r)
						var times []float64
						for b.Loop() {
							b.StopTimer()
							q := index.Query{Filter: index.Filter{Tenant: "acme", Subjects: []string{"3f1c9a7e5b2d4860"}}, K: 100}
							c.filter(&q.Filter)
							if c.dense {
								q.Vector, q.Model = benchVector(r), "model"
							}
							for c.lexical && len(q.Terms) < 8 {
								q.Terms = append(q.Terms, z.Uint64()*0x9e3779b97f4a7c15)
							}
							b.StartTimer()
							start := threadTime(b)
							if _, err := ix.Candidates(b.Context(), db, q); err != nil {
								b.Fatal(err)
							}
							times = append(times, (threadTime(b)-start).Seconds()*1000)
						}
						slices.Sort(times)
						b.ReportMetric(times[len(times)/2], "p50-ms")
						b.ReportMetric(times[len(times)*95/100], "p95-ms")
						b.ReportMetric(0, "ns/op")
					})
				}
			})
		}
	}
}

// BenchmarkWrite reports documents of 55 words in each second by the clock and by processor time, with and without their vectors.
func BenchmarkWrite(b *testing.B) {
	for _, c := range []struct {
		batch   int
		vectors bool
	}{{benchBatch, false}, {benchBatch, true}, {1, true}} {
		b.Run(fmt.Sprintf("batch=%d/vectors=%v", c.batch, c.vectors), func(b *testing.B) {
			db := openBenchStore(b, 64<<20)
			defer func() { _ = db.Close() }()
			ix := New([]byte{'x'})
			r := rand.New(rand.NewPCG(7, 8))
			z := newZipf(r)
			vector := benchVector(r)
			n := 0
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				docs := make([]index.Doc, c.batch)
				for i := range docs {
					docs[i] = benchDoc(r, z, n)
					n++
				}
				b.StartTimer()
				start := threadTime(b)
				w := ix.NewWriter(db)
				for _, d := range docs {
					if err := w.Put(d); err != nil {
						b.Fatal(err)
					}
					if !c.vectors {
						continue
					}
					v := index.Vector{Tenant: d.Tenant, Subject: d.Subject, ID: d.ID, Model: "model", Seq: d.Seq, Values: vector}
					if err := w.SetVector(v); err != nil {
						b.Fatal(err)
					}
				}
				batch := db.NewBatch()
				if err := w.Flush(batch); err != nil {
					b.Fatal(err)
				}
				if err := batch.Commit(pebble.NoSync); err != nil {
					b.Fatal(err)
				}
				used += threadTime(b) - start
			}
			b.ReportMetric(float64(n)/used.Seconds(), "docs/cpu-s")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "docs/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLayout compares two ways to keep the int8 vector of a document, which the choice of this package rests on: in
// the forward row, or in a range of its own that is read in step.
func BenchmarkLayout(b *testing.B) {
	const n = 100000
	db := openBenchStore(b, 256<<20)
	defer func() { _ = db.Close() }()
	r := rand.New(rand.NewPCG(9, 10))
	fields := make([]byte, 200)
	vector := make([]byte, 3*scalarBytes+benchDim)
	for at := 0; at < n; at += benchBatch {
		batch := db.NewBatch()
		for i := at; i < at+benchBatch; i++ {
			for j := range vector {
				vector[j] = byte(r.Uint32())
			}
			key := func(sort byte) []byte { return binary.BigEndian.AppendUint64([]byte{sort}, uint64(i)) }
			for _, err := range []error{
				batch.Set(key('a'), fields, nil), batch.Set(key('b'), vector, nil), batch.Set(key('c'), append(fields, vector...), nil),
			} {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		if err := batch.Commit(pebble.NoSync); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Flush(); err != nil {
		b.Fatal(err)
	}
	walk := func(b *testing.B, sorts string) {
		b.Helper()
		sum := 0
		for b.Loop() {
			var its []*pebble.Iterator
			for _, sort := range []byte(sorts) {
				it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{sort}, UpperBound: []byte{sort + 1}})
				if err != nil {
					b.Fatal(err)
				}
				it.First()
				its = append(its, it)
			}
			for its[0].Valid() {
				for _, it := range its {
					sum += len(it.Value())
					it.Next()
				}
			}
			for _, it := range its {
				if err := it.Close(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct{ name, sorts string }{
		{"fields-only", "a"}, {"separate", "ab"}, {"joined", "c"},
	} {
		b.Run(c.name, func(b *testing.B) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			start := threadTime(b)
			walk(b, c.sorts)
			b.ReportMetric((threadTime(b)-start).Seconds()*1000/float64(b.N), "cpu-ms/op")
		})
	}
}
