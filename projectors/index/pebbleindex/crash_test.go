package pebbleindex

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/projectors/index"
)

var positionKey = []byte("position")

// position returns the number of operations that the rows in the store account for.
func (b backend) position(tb testing.TB) int {
	tb.Helper()
	value, closer, err := b.db.Get(positionKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0
	}
	if err != nil {
		tb.Fatalf("get position: %v", err)
	}
	defer func() { _ = closer.Close() }()
	return int(binary.BigEndian.Uint64(value))
}

// project applies log from at to end with the position in the same batch.
func (b backend) project(tb testing.TB, log []index.Op, at, end int) {
	tb.Helper()
	w := b.ix.NewWriter(b.db)
	for _, op := range log[at:end] {
		if err := write(w, op); err != nil {
			tb.Fatalf("write: %v", err)
		}
	}
	batch := b.db.NewBatch()
	if err := w.Flush(batch); err != nil {
		tb.Fatalf("flush: %v", err)
	}
	if err := batch.Set(positionKey, binary.BigEndian.AppendUint64(nil, uint64(end)), nil); err != nil {
		tb.Fatalf("set position: %v", err)
	}
	if err := batch.Commit(pebble.NoSync); err != nil {
		tb.Fatalf("commit: %v", err)
	}
}

// TestCrash loses power at random places. What is left must be the rows of exactly the position that is left, and going on
// from there must end where an undisturbed run ends.
func TestCrash(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	var log []index.Op
	for i := range 240 {
		d := small(r.IntN(90), uint64(r.IntN(9)), uint64(10+i))
		d.Seq = uint64(i + 1)
		log = append(log, d)
		switch r.IntN(4) {
		case 0:
			log = append(log, index.Removal{Tenant: d.Tenant, Subject: d.Subject, ID: small(r.IntN(90)).ID})
		case 1:
			log = append(log, vectorFor(d, d.Seq, "m", float32(r.NormFloat64()), 1))
		}
	}
	// rowsAt is what an undisturbed run over the first n operations answers.
	rowsAt := func(n int) index.Candidates {
		b := backend{ix: New([]byte("index/")), db: openStore(t, vfs.NewMem(), "db", 1<<20)}
		defer func() { _ = b.db.Close() }()
		b.project(t, log, 0, n)
		return b.everything(t)
	}
	crashes, lost := 0, 0
	for round := range 8 {
		fs := vfs.NewCrashableMem()
		b := backend{ix: New([]byte("index/")), db: openStore(t, fs, "db", 1<<20)}
		at := 0
		for at < len(log) {
			end := min(len(log), at+1+r.IntN(60))
			b.project(t, log, at, end)
			at = end
			if r.IntN(3) == 0 {
				if err := b.db.Flush(); err != nil {
					t.Fatalf("flush store: %v", err)
				}
			}
			if r.IntN(4) > 0 {
				continue
			}
			// What was not synced survives or not, as chance has it.
			image := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(uint64(round), uint64(at)))})
			if err := b.db.Close(); err != nil {
				t.Fatalf("close store: %v", err)
			}
			fs = image
			b.db = openStore(t, fs, "db", 1<<20)
			crashes++
			left := b.position(t)
			if left < at {
				lost++
			}
			if diff := cmp.Diff(rowsAt(left), b.everything(t)); diff != "" {
				t.Fatalf("rows are not those of position %d (-want +got):\n%s", left, diff)
			}
			at = left
		}
		if diff := cmp.Diff(rowsAt(len(log)), b.everything(t)); diff != "" {
			t.Fatalf("the run did not converge (-want +got):\n%s", diff)
		}
		if err := b.db.Close(); err != nil {
			t.Fatalf("close store: %v", err)
		}
	}
	if crashes < 5 || lost < 3 {
		t.Fatalf("%d crashes, of which %d lost something: too few to show anything", crashes, lost)
	}
}

func (b backend) everything(tb testing.TB) index.Candidates {
	tb.Helper()
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Vector: []float32{1, 1}, Model: "m", K: 1000}
	for term := range uint64(500) {
		q.Terms = append(q.Terms, term)
	}
	c, err := b.Candidates(tb.Context(), q)
	if err != nil {
		tb.Fatalf("candidates: %v", err)
	}
	return c
}

// TestWriterRefusals holds the Writer to what it says about its own use.
func TestWriterRefusals(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	w := b.ix.NewWriter(b.db)
	if err := w.Put(small(1, 1)); err != nil {
		t.Fatalf("put: %v", err)
	}
	batch := b.db.NewBatch()
	defer func() { _ = batch.Close() }()
	if err := w.Flush(batch); err != nil {
		t.Fatalf("flush: %v", err)
	}
	_, err := w.RemoveSubject("acme", "s")
	for i, err := range []error{w.Put(small(2, 1)), w.Flush(batch), w.Remove("acme", "s", "id-1"), err} {
		if !errors.Is(err, ErrFlushed) {
			t.Errorf("use %d after the flush gives %v", i, err)
		}
	}
}

// TestCorruptRows damages each sort of row and demands a typed error or the same answer, and no panic.
func TestCorruptRows(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	var ops []index.Op
	for i := range 40 {
		d := small(i, 1, 2)
		ops = append(ops, d, vectorFor(d, d.Seq, "m", 1, float32(i)))
	}
	if err := b.Apply(t.Context(), ops); err != nil {
		t.Fatalf("apply: %v", err)
	}
	seen := 0
	for key, value := range b.keys(t) {
		if len(key) < len("index/") || key[:len("index/")] != "index/" {
			continue
		}
		for _, damaged := range damages(key, value) {
			batch := b.db.NewIndexedBatch()
			if err := batch.Set([]byte(key), damaged, nil); err != nil {
				t.Fatalf("set: %v", err)
			}
			q := index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1, 2}, Vector: []float32{1, 1}, Model: "m", K: 50}
			if _, err := b.ix.Candidates(t.Context(), batch, q); err != nil {
				seen++
				// A dimension can only be told from another one.
				if !errors.Is(err, index.ErrCorrupt) && (key[len("index/")] != sortDim || !errors.Is(err, index.ErrVectorDim)) {
					t.Fatalf("sort %c of %d bytes damaged to %d gives %v", key[len("index/")], len(value), len(damaged), err)
				}
			}
			w := b.ix.NewWriter(batch)
			if err := w.Remove("acme", "s", "id-3"); err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("sort %c of %d bytes damaged to %d gives %v", key[len("index/")], len(value), len(damaged), err)
			}
			out := b.db.NewBatch()
			if err := w.Flush(out); err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Fatalf("sort %c of %d bytes damaged to %d gives %v", key[len("index/")], len(value), len(damaged), err)
			}
			if err := errors.Join(out.Close(), batch.Close()); err != nil {
				t.Fatalf("close batch: %v", err)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no damage was noticed")
	}
}

// damages returns value cut at about 24 places, and with one bit flipped at as many.
func damages(key, value string) (list [][]byte) {
	r := rand.New(rand.NewPCG(uint64(len(key)), uint64(len(value))))
	for at := 0; at < len(value); at += 1 + len(value)/24 {
		list = append(list, []byte(value[:at]))
		flipped := []byte(value)
		flipped[at] ^= 1 << r.IntN(8)
		list = append(list, flipped)
	}
	return list
}
