package projectors

import (
	"fmt"
	"math/rand/v2"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sys/unix"

	"github.com/annals-memory/annals/events"
)

// conversation makes a log of n episodes of about 60 words, each followed by its vector of 512 numbers.
func conversation(tb testing.TB, w *world, n int) []events.Message {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(r, 1.07, 8, 30_000)
	var list []events.Message
	add := func(kind events.Kind, id string, e events.Event) {
		a := events.Aggregate{Tenant: w.tenant(tb, "acme").Token(), Kind: kind, ID: id}
		m, err := events.Encode(events.Commit{
			ID: fmt.Sprintf("commit-%d", len(list)), Aggregate: a, Time: epoch(), Principal: "principal-a", Events: []events.Event{e},
		})
		if err != nil {
			tb.Fatal(err)
		}
		m.Position, m.RecordedAt = uint64(len(list))+1, epoch()
		list = append(list, m)
	}
	for i := range n {
		var text strings.Builder
		for range 60 {
			fmt.Fprintf(&text, "w%dord ", words.Uint64())
		}
		e, c := w.episode(tb, "acme", fmt.Sprint("subject ", i%200), fmt.Sprintf("019a0000-0000-7000-8000-%012d", i), text.String())
		add(events.KindEpisode, c.id, e)
		add(events.KindVector, events.SharedID, w.vector(tb, testModel, "acme", c.sid, c.class, c.id, events.KindEpisode, unit(uint64(i), 512)))
	}
	for i := range list {
		list[i].Pending = uint64(len(list) - i - 1)
	}
	return list
}

// heapPeak samples the heap until it is asked for the highest.
func heapPeak() func() uint64 {
	var most uint64
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				metrics.Read(s)
				most = max(most, s[0].Value.Uint64())
			}
		}
	})
	return func() uint64 {
		close(done)
		group.Wait()
		return most
	}
}

// processTime is the processor time that the process has used, which other work on the machine moves far less than the clock.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMemoriesReplay builds the memories with their search index from a log of episodes that have their vectors, beside
// the generation that serves.
func BenchmarkMemoriesReplay(b *testing.B) {
	w := newWorld(b)
	const n = 10_000
	log := tape{messages: conversation(b, w, n)}
	cfg := w.config(vfs.Default)
	cfg.Log, cfg.CacheBytes, cfg.Dir = log, 64<<20, b.TempDir()
	v := start(b, cfg)
	defer v.close(b)
	if err := v.WaitFor(b.Context(), 2*n); err != nil {
		b.Fatal(err)
	}
	peak, used := heapPeak(), processTime(b)
	for b.Loop() {
		if _, err := v.Replay(b.Context(), Memories, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processTime(b)-used).Microseconds())/float64(n*b.N), "cpu-us/episode")
	b.ReportMetric(float64(peak())/(1<<20), "heap-MiB")
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "episodes/s")
}
