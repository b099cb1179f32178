package qdrantindex_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annals-memory/annals/internal/qdranttest"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/indextest"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// TestMain runs fewer random cases than a test of memory would: each is some hundred requests.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func open(tb testing.TB, address string) *qdrantindex.Client {
	tb.Helper()
	c, err := qdrantindex.Open(tb.Context(), qdrantindex.Config{Address: address, Now: time.Now})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

// backend is an index in a collection of its own, and a log in which each batch is one event.
type backend struct {
	*qdrantindex.Index

	log *atomic.Uint64
}

func newBackend(tb testing.TB, c *qdrantindex.Client) backend {
	tb.Helper()
	b := backend{c.Index("test-" + strings.ReplaceAll(tb.Name(), "/", "-")), new(atomic.Uint64)}
	if err := errors.Join(b.Index.Drop(tb.Context()), b.Create(tb.Context())); err != nil {
		tb.Fatalf("create: %v", err)
	}
	tb.Cleanup(func() {
		if err := b.Index.Drop(context.WithoutCancel(tb.Context())); err != nil {
			tb.Errorf("drop: %v", err)
		}
	})
	return b
}

func (b backend) Apply(ctx context.Context, ops []index.Op) error {
	return b.applyAt(ctx, qdrantindex.Mark{Log: "log", Position: b.log.Add(1)}, ops)
}

func (b backend) applyAt(ctx context.Context, m qdrantindex.Mark, ops []index.Op) error {
	w := b.NewWriter()
	keys := make([]qdrantindex.Key, 0, len(ops))
	for _, op := range ops {
		if k, ok := keyOf(op); ok {
			keys = append(keys, k)
		}
	}
	if err := w.Load(ctx, keys...); err != nil {
		return err
	}
	var errs []error
	for _, op := range ops {
		errs = append(errs, write(ctx, w, op))
	}
	_, err := w.Flush(ctx, m)
	return errors.Join(append(errs, err)...)
}

func keyOf(op index.Op) (qdrantindex.Key, bool) {
	switch op := op.(type) {
	case index.Doc:
		return qdrantindex.Key{Tenant: op.Tenant, ID: op.ID}, op.Validate() == nil
	case index.Vector:
		return qdrantindex.Key{Tenant: op.Tenant, ID: op.ID}, op.Validate() == nil
	case index.Update:
		return qdrantindex.Key{Tenant: op.Tenant, ID: op.ID}, op.Validate() == nil
	case index.Removal:
		return qdrantindex.Key{Tenant: op.Tenant, ID: op.ID}, op.Validate() == nil
	}
	return qdrantindex.Key{}, false
}

func write(ctx context.Context, w *qdrantindex.Writer, op index.Op) error {
	switch op := op.(type) {
	case index.Doc:
		return w.Put(ctx, op)
	case index.Vector:
		return w.SetVector(ctx, op)
	case index.Update:
		return w.Update(ctx, op)
	case index.Removal:
		return w.Remove(ctx, op.Tenant, op.Subject, op.ID)
	case index.SubjectRemoval:
		for {
			if more, err := w.RemoveSubject(ctx, op.Tenant, op.Subject); err != nil || !more {
				return err
			}
		}
	}
	return fmt.Errorf("unknown operation %T", op)
}

func (b backend) Drop(ctx context.Context) error {
	return errors.Join(b.Index.Drop(ctx), b.Create(ctx))
}

func TestContract(t *testing.T) {
	t.Parallel()
	c := open(t, qdranttest.Address(t))
	indextest.Run(t, func(t *testing.T) indextest.Backend { return newBackend(t, c) })
}
