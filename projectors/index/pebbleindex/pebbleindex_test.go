package pebbleindex

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/indextest"
)

// quiet is a logger that says nothing.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

func openStore(tb testing.TB, fs vfs.FS, dir string, cache int64) *pebble.DB {
	tb.Helper()
	c := pebble.NewCache(cache)
	defer c.Unref()
	db, err := pebble.Open(dir, &pebble.Options{
		FS: fs, Cache: c, DisableWAL: true, Logger: quiet{}, FormatMajorVersion: pebble.FormatNewest,
	})
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	return db
}

// backend is the index in a store of its own, between rows that are none of its business.
type backend struct {
	ix *Index
	db *pebble.DB
}

func newBackend(tb testing.TB) backend {
	tb.Helper()
	db := openStore(tb, vfs.NewMem(), "db", 8<<20)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
	})
	for _, k := range []string{"index", "index0", "indey"} {
		if err := db.Set([]byte(k), []byte("neighbour"), pebble.NoSync); err != nil {
			tb.Fatalf("set neighbour: %v", err)
		}
	}
	return backend{ix: New([]byte("index/")), db: db}
}

func (b backend) Apply(_ context.Context, ops []index.Op) error {
	w := b.ix.NewWriter(b.db)
	var errs []error
	for _, op := range ops {
		errs = append(errs, write(w, op))
	}
	batch := b.db.NewBatch()
	errs = append(errs, w.Flush(batch), batch.Commit(pebble.NoSync))
	return errors.Join(errs...)
}

func write(w *Writer, op index.Op) error {
	switch op := op.(type) {
	case index.Doc:
		return w.Put(op)
	case index.Vector:
		return w.SetVector(op)
	case index.Update:
		return w.Update(op)
	case index.Removal:
		return w.Remove(op.Tenant, op.Subject, op.ID)
	case index.SubjectRemoval:
		for {
			if more, err := w.RemoveSubject(op.Tenant, op.Subject); err != nil || !more {
				return err
			}
		}
	}
	return fmt.Errorf("unknown operation %T", op)
}

func (b backend) Candidates(ctx context.Context, q index.Query) (index.Candidates, error) {
	return b.ix.Candidates(ctx, b.db, q)
}

func (b backend) Count(ctx context.Context, f index.Filter) (int, error) {
	return b.ix.Count(ctx, b.db, f)
}

func (b backend) Drop(context.Context) error {
	batch := b.db.NewBatch()
	return errors.Join(b.ix.Drop(batch), batch.Commit(pebble.NoSync))
}

func TestContract(t *testing.T) {
	t.Parallel()
	indextest.Run(t, func(t *testing.T) indextest.Backend { return newBackend(t) })
}
