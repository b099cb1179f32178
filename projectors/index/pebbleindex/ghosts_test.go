package pebbleindex

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/projectors/index"
)

// keys returns all keys of the store, as the key space and not the index tells them.
func (b backend) keys(tb failer) map[string]string {
	tb.Helper()
	it, err := b.db.NewIter(nil)
	if err != nil {
		tb.Fatalf("open iterator: %v", err)
	}
	all := map[string]string{}
	for it.First(); it.Valid(); it.Next() {
		all[string(it.Key())] = string(it.Value())
	}
	if err := it.Close(); err != nil {
		tb.Fatalf("close iterator: %v", err)
	}
	return all
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// withoutDims leaves out the rows that may outlive the documents.
func (b backend) withoutDims(all map[string]string) map[string]string {
	for k := range all {
		if bytes.HasPrefix([]byte(k), append(bytes.Clone(b.ix.prefix), sortDim)) {
			delete(all, k)
		}
	}
	return all
}

func small(n int, terms ...uint64) index.Doc {
	d := index.Doc{
		Tenant: "acme", Subject: "s", ID: fmt.Sprintf("id-%d", n), Kind: index.Fact, Seq: uint64(n + 1),
		Session: "session", Entities: []string{"entity"}, Labels: []string{"label"}, ValidToUS: math.MaxInt64,
	}
	for _, t := range terms {
		d.Terms = append(d.Terms, index.Term{Token: t, TF: 1})
		d.Length++
	}
	return d
}

func vectorFor(d index.Doc, seq uint64, model string, values ...float32) index.Vector {
	return index.Vector{Tenant: d.Tenant, Subject: d.Subject, ID: d.ID, Model: model, Seq: seq, Values: values}
}

// TestNoGhosts removes documents in every way that they can come to be there, and looks at the key space.
func TestNoGhosts(t *testing.T) {
	t.Parallel()
	d := small(1, 1, 2, 3)
	again := small(1, 3, 4)
	again.Seq = 50
	moved := small(1, 5)
	moved.Seq, moved.Subject = 60, "other"
	remove := index.Removal{Tenant: "acme", Subject: "s", ID: d.ID}
	for name, batches := range map[string][][]index.Op{
		"plain":               {{d}, {remove}},
		"with vectors":        {{d}, {vectorFor(d, 9, "m", 1, 0), vectorFor(d, 9, "m2", 1, 0, 0)}, {remove}},
		"vector before":       {{vectorFor(d, 9, "m", 1, 0)}, {d}, {remove}},
		"vector after":        {{d}, {remove}, {vectorFor(d, 9, "m", 1, 0)}},
		"one batch":           {{d, vectorFor(d, 9, "m", 1, 0), remove, vectorFor(d, 9, "m", 1, 0)}},
		"other terms":         {{d, vectorFor(d, 9, "m", 1, 0)}, {again}, {vectorFor(d, 55, "m", 1, 0)}, {remove}},
		"other terms at once": {{d, vectorFor(d, 9, "m", 1, 0)}, {again, vectorFor(d, 55, "m", 1, 0), remove}},
		"put after removal":   {{d}, {remove, again}, {remove}},
		"newer vector":        {{d, vectorFor(d, 9, "m", 1, 0)}, {vectorFor(d, 10, "m", 0, 1)}, {remove}},
		"update":              {{d}, {index.Update{Tenant: "acme", Subject: "s", ID: d.ID, Seq: 20, Trust: new(uint8)}}, {remove}},
		"moved":               {{d, vectorFor(d, 9, "m", 1, 0)}, {moved}, {index.Removal{Tenant: "acme", Subject: "other", ID: d.ID}}},
		"subject":             {{d, vectorFor(d, 9, "m", 1, 0)}, {again, index.SubjectRemoval{Tenant: "acme", Subject: "s"}}},
		"update after":        {{d}, {remove}, {index.Update{Tenant: "acme", Subject: "s", ID: d.ID, Seq: 20, Trust: new(uint8)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			// A neighbour in the same blocks must be left exactly as it would be alone.
			neighbour := small(2, 1, 2, 3, 4, 5)
			vector := vectorFor(neighbour, 9, "m", 0.6, 0.8)
			before := b.keys(t)
			for i, ops := range batches {
				if err := b.Apply(t.Context(), ops); err != nil {
					t.Fatalf("apply batch %d: %v", i, err)
				}
			}
			if diff := cmp.Diff(before, b.withoutDims(b.keys(t))); diff != "" {
				t.Fatalf("rows are left (-before +after):\n%s", diff)
			}
			if err := b.Apply(t.Context(), []index.Op{neighbour, vector}); err != nil {
				t.Fatalf("apply neighbour: %v", err)
			}
			alone := b.withoutDims(b.keys(t))
			if len(alone) != len(before)+10 {
				t.Fatalf("a document of 5 terms with its vector has %d rows, want 10", len(alone)-len(before))
			}
			for i, ops := range batches {
				if err := b.Apply(t.Context(), ops); err != nil {
					t.Fatalf("apply batch %d: %v", i, err)
				}
			}
			if name == "subject" {
				alone = before
			}
			if diff := cmp.Diff(alone, b.withoutDims(b.keys(t))); diff != "" {
				t.Fatalf("rows differ beside a neighbour (-before +after):\n%s", diff)
			}
		})
	}
}

// TestNothingIsLeft removes in random order and batches everything that random batches put, over several blocks.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for round := range uint64(4) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(round, 1))
			b := newBackend(t)
			before := b.keys(t)
			const n = 1200 // more than two spans of postings
			var ops []index.Op
			for i := range n {
				d := small(i, uint64(i%7), uint64(100+i))
				ops = append(ops, d)
				if i%3 > 0 {
					ops = append(ops, vectorFor(d, d.Seq, "m", 1, float32(i)))
				}
			}
			for _, i := range r.Perm(n) {
				ops = append(ops, index.Removal{Tenant: "acme", Subject: "s", ID: small(i).ID})
			}
			for len(ops) > 0 {
				cut := min(len(ops), 1+r.IntN(300))
				if err := b.Apply(t.Context(), ops[:cut]); err != nil {
					t.Fatalf("apply: %v", err)
				}
				ops = ops[cut:]
			}
			if diff := cmp.Diff(before, b.withoutDims(b.keys(t))); diff != "" {
				t.Fatalf("rows are left:\n%s", diff)
			}
		})
	}
}

// TestRemoveSubjectInSteps shows that each call is bounded, and that the rest can be done by later batches.
func TestRemoveSubjectInSteps(t *testing.T) {
	t.Parallel()
	for _, writers := range []bool{false, true} {
		t.Run(fmt.Sprintf("writer each step %v", writers), func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			before := b.keys(t)
			var ops []index.Op
			for i := range 1000 {
				ops = append(ops, small(i, 1))
			}
			if err := b.Apply(t.Context(), ops); err != nil {
				t.Fatalf("apply: %v", err)
			}
			steps := 0
			w := b.ix.NewWriter(b.db)
			for more := true; more; steps++ {
				var err error
				if more, err = w.RemoveSubject("acme", "s"); err != nil {
					t.Fatalf("remove subject: %v", err)
				}
				if !writers && more {
					continue
				}
				batch := b.db.NewBatch()
				if err := w.Flush(batch); err != nil {
					t.Fatalf("flush: %v", err)
				}
				if err := batch.Commit(pebble.NoSync); err != nil {
					t.Fatalf("commit: %v", err)
				}
				w = b.ix.NewWriter(b.db)
			}
			if steps != 4 {
				t.Fatalf("it took %d steps, want 4", steps)
			}
			if diff := cmp.Diff(before, b.keys(t)); diff != "" {
				t.Fatalf("rows are left:\n%s", diff)
			}
		})
	}
}

// TestRemoveSubjectFindsDamage holds that the removal of a subject does not end well when it cannot tell which document a row
// is of, or when nothing leads from the document to the row: the row would stay.
func TestRemoveSubjectFindsDamage(t *testing.T) {
	t.Parallel()
	d := small(1, 1, 2)
	for name, damage := range map[string]func(b backend, batch *pebble.Batch) error{
		"none": func(backend, *pebble.Batch) error { return nil },
		"a name that does not end": func(b backend, batch *pebble.Batch) error {
			key := b.ix.forwardKey(nil, "acme", "s", 0)
			value := []byte(b.keys(t)[string(key)])
			value[bytes.Index(value, []byte("id-1"))-1] = 255
			return batch.Set(key, value, nil)
		},
		"another name": func(b backend, batch *pebble.Batch) error {
			key := b.ix.forwardKey(nil, "acme", "s", 0)
			value := []byte(b.keys(t)[string(key)])
			return batch.Set(key, bytes.Replace(value, []byte("id-1"), []byte("id-7"), 1), nil)
		},
		"no way to the row": func(b backend, batch *pebble.Batch) error {
			return batch.Delete(b.ix.idKey(nil, "acme", d.ID), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t)
			if err := b.Apply(t.Context(), []index.Op{d}); err != nil {
				t.Fatal(err)
			}
			batch := b.db.NewBatch()
			if err := errors.Join(damage(b, batch), batch.Commit(pebble.NoSync)); err != nil {
				t.Fatal(err)
			}
			_, err := b.ix.NewWriter(b.db).RemoveSubject("acme", "s")
			if (err == nil) != (name == "none") || err != nil && !errors.Is(err, index.ErrCorrupt) {
				t.Errorf("remove subject: %v", err)
			}
		})
	}
}
