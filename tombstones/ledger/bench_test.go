package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// BenchmarkOpen compares a log of 200,000 episodes with its ledger: the time for
// each position, that of a checkpoint and that of a proof.
func BenchmarkOpen(b *testing.B) {
	const n = 200_000
	w, err := openLog(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := w.close(); err != nil {
			b.Error(err)
		}
	}()
	l, err := ledger.Open(b.Context(), w.config(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for start := 0; start < n; start += events.MaxBatch {
		batch := make([]events.Pending, events.MaxBatch)
		for i := range batch {
			batch[i] = events.Pending{Commit: eventstest.Episode(fmt.Sprintf("e-%d", start+i)), Expect: events.ExpectNew}
		}
		if _, err := w.streams.Log().AppendBatch(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	begun := time.Now()
	if err := l.Checkpoint(b.Context()); err != nil {
		b.Fatal(err)
	}
	covered := time.Since(begun)
	l = nil
	for b.Loop() {
		if l, err = ledger.Open(b.Context(), w.config(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "open-ns/leaf")
	b.ReportMetric(float64(covered.Nanoseconds())/n, "checkpoint-ns/leaf")
	begun = time.Now()
	const proofs = 200
	for i := range proofs {
		if _, err := l.Prove(b.Context(), uint64(1+i*(n/proofs))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(begun).Microseconds())/proofs, "proof-µs")
}
