package natslog_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// manyRecords are a keyring over an embedded server and a subject with n records.
func manyRecords(tb testing.TB, d natslog.Durability, n int) (*natslog.Keys, *seal.Keyring, seal.Scope) {
	tb.Helper()
	rows := fresh(tb, d).Keys()
	ring, scope := recordsIn(tb, rows, n)
	return rows, ring, scope
}

// rotationOnDisk is that in a directory that can be looked at.
func rotationOnDisk(t *testing.T) (string, *seal.Keyring, *natslog.Keys, seal.Scope) {
	t.Helper()
	dir, streams, _ := inStore(t)
	ring, scope := recordsIn(t, streams.Keys(), 3)
	return dir, ring, streams.Keys(), scope
}

func recordsIn(tb testing.TB, rows seal.Rows, n int) (*seal.Keyring, seal.Scope) {
	tb.Helper()
	root, err := seal.OpenFileRoot(filepath.Join(tb.TempDir(), "root.key"), seal.FileRootOptions{Create: true})
	if err != nil {
		tb.Fatal(err)
	}
	ring, err := seal.New(rows, root, seal.Options{Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	tenant, err := ring.Tenant(tb.Context(), "acme", true)
	if err != nil {
		tb.Fatal(err)
	}
	sid, err := tenant.SubjectID(tb.Context(), "ada", true)
	if err != nil {
		tb.Fatal(err)
	}
	scope := tenant.Scope(sid, "preferences")
	for made := 0; made < n; {
		batch := make([]seal.NewRecord, min(n-made, seal.MaxCreate))
		for i := range batch {
			batch[i] = seal.NewRecord{Scope: scope, Record: fmt.Sprintf("r-%d", made+i), Note: make([]byte, 32)}
		}
		if _, err := ring.NewRecords(tb.Context(), batch); err != nil {
			tb.Fatal(err)
		}
		made += len(batch)
	}
	return ring, scope
}

// BenchmarkSweep removes what a forgotten subject with many records leaves.
func BenchmarkSweep(b *testing.B) {
	for name, d := range benchDurabilities() {
		b.Run(name, func(b *testing.B) {
			const records = 100_000
			for b.Loop() {
				b.StopTimer()
				_, ring, scope := manyRecords(b, d, records)
				if err := ring.DestroySubject(b.Context(), scope.Tenant, scope.Subject); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if n, err := ring.Sweep(b.Context(), scope.Tenant, nil); n != records || err != nil {
					b.Fatalf("%d rows were swept, %v", n, err)
				}
			}
			b.ReportMetric(records, "records")
		})
	}
}

// BenchmarkRotateSubject gives a subject with many records a fresh key and
// destroys the one before.
func BenchmarkRotateSubject(b *testing.B) {
	for name, d := range benchDurabilities() {
		b.Run(name, func(b *testing.B) {
			const records = 10_000
			_, ring, scope := manyRecords(b, d, records)
			for b.Loop() {
				err := errors.Join(
					ring.RotateSubject(b.Context(), scope.Tenant, scope.Subject),
					ring.FinishSubject(b.Context(), scope.Tenant, scope.Subject),
				)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(records, "records")
		})
	}
}
