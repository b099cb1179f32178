package ledger_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// benchWorld is a log with n rows of 400 bytes, with the durability of a server.
func benchWorld(b *testing.B, durability natslog.Durability, n int) (*world, *ledger.Ledger) {
	b.Helper()
	w := &world{dir: b.TempDir()}
	var err error
	w.server, err = natslog.StartServer(b.Context(), natslog.Options{Dir: b.TempDir(), Durability: durability})
	if err != nil {
		b.Fatal(err)
	}
	nc, err := w.server.Connect(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		nc.Close()
		if err := w.server.Close(); err != nil {
			b.Error(err)
		}
	})
	if w.streams, err = natslog.Open(b.Context(), nc, natslog.Config{CreateStreams: true}); err != nil {
		b.Fatal(err)
	}
	l, err := ledger.Open(b.Context(), w.config(), nil)
	if err != nil {
		b.Fatal(err)
	}
	w.rows = w.streams.Keys().Journaled(l)
	for i := 0; i < n; i += seal.MaxCreate {
		if err := w.rows.Create(b.Context(), benchRows("n", i, min(seal.MaxCreate, n-i))...); err != nil {
			b.Fatal(err)
		}
	}
	return w, l
}

func benchRows(name string, from, n int) []seal.Row {
	rows := make([]seal.Row, n)
	for i := range rows {
		value := make([]byte, 400)
		_, _ = rand.Read(value) // it never fails
		rows[i] = seal.Row{Key: fmt.Sprintf("k3.t.%s%d", name, from+i), Value: value}
	}
	return rows
}

// BenchmarkKeysStart holds 100,000 rows against their account, as a start does; and
// takes them into it, as the checkpoints after captures do.
func BenchmarkKeysStart(b *testing.B) {
	const n = 100_000
	_, l := benchWorld(b, natslog.DurabilityProcess, n)
	begun := time.Now()
	if err := l.Checkpoint(b.Context()); err != nil {
		b.Fatal(err)
	}
	covered := time.Since(begun)
	for b.Loop() {
		if err := l.CheckKeys(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "start-ns/row")
	b.ReportMetric(float64(covered.Nanoseconds())/n, "checkpoint-ns/row")
}

// BenchmarkKeysCapture makes a checkpoint behind each thousand rows, the price of an
// account for captures at full speed.
func BenchmarkKeysCapture(b *testing.B) {
	w, l := benchWorld(b, natslog.DurabilityProcess, 10_000)
	var spent time.Duration
	n := 0
	for b.Loop() {
		if err := w.rows.Create(b.Context(), benchRows("c", n, seal.MaxCreate)...); err != nil {
			b.Fatal(err)
		}
		n += seal.MaxCreate
		begun := time.Now()
		if err := l.Checkpoint(b.Context()); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(begun)
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(n), "account-ns/row")
}

// BenchmarkKeysRemoval destroys one row, and discards a thousand, with a ledger that
// is told and without.
func BenchmarkKeysRemoval(b *testing.B) {
	for _, durability := range []natslog.Durability{natslog.DurabilityPower, natslog.DurabilityProcess} {
		for _, told := range []bool{false, true} {
			b.Run(fmt.Sprintf("power=%v/told=%v", durability == natslog.DurabilityPower, told), func(b *testing.B) {
				w, l := benchWorld(b, durability, 10_000)
				rows := w.streams.Keys()
				if told {
					rows = rows.Journaled(l)
				}
				next := 0
				for b.Loop() {
					if err := rows.Destroy(b.Context(), fmt.Sprintf("k3.t.n%d", next)); err != nil {
						b.Fatal(err)
					}
					next++
				}
				b.ReportMetric(float64(discard(b.Context(), b, rows).Nanoseconds())/seal.MaxCreate, "discard-ns/row")
			})
		}
	}
}

func discard(ctx context.Context, b *testing.B, rows *natslog.Keys) time.Duration {
	b.Helper()
	some := benchRows("d", 0, seal.MaxCreate)
	if err := rows.Create(ctx, some...); err != nil {
		b.Fatal(err)
	}
	keys := make([]string, len(some))
	for i := range some {
		keys[i] = some[i].Key
	}
	stored, err := rows.GetMany(ctx, keys)
	if err != nil {
		b.Fatal(err)
	}
	for i := range some {
		some[i] = stored[some[i].Key]
	}
	begun := time.Now()
	if err := rows.Discard(ctx, some...); err != nil {
		b.Fatal(err)
	}
	return time.Since(begun)
}
