package projectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/pebbleindex"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// searchIndex is where the search index of one generation of the memories is.
type searchIndex interface {
	// begin makes it empty, for a generation that has folded nothing.
	begin(ctx context.Context) error
	// whole reports whether it is there, for one that has.
	whole(ctx context.Context) (bool, error)
	// serve tells those outside that this is the one that serves.
	serve(ctx context.Context) error
	// writer returns a writer for one batch over what is stored.
	writer(db *pebble.DB) indexWriter
	// candidates answers a query; r is a state of the generation's store.
	candidates(ctx context.Context, r pebble.Reader, q index.Query) (index.Candidates, error)
	// left counts what it has of a subject.
	left(ctx context.Context, tenant, sid string) (int, error)
}

// indexWriter collects what one batch does to the index. Flush writes it, or adds it to the batch.
type indexWriter interface {
	Put(ctx context.Context, d index.Doc) error
	SetVector(ctx context.Context, v index.Vector) error
	Update(ctx context.Context, u index.Update) error
	Remove(ctx context.Context, tenant, subject, id string) error
	RemoveSubject(ctx context.Context, tenant, subject string) (more bool, err error)
	Flush(ctx context.Context, b *pebble.Batch) error
}

// storeIndex is the search index in the store of the generation itself, in whose batches it is written.
type storeIndex struct{ ix *pebbleindex.Index }

func (storeIndex) begin(context.Context) error { return nil }

func (storeIndex) whole(context.Context) (bool, error) { return true, nil }

func (storeIndex) serve(context.Context) error { return nil }

func (s storeIndex) writer(db *pebble.DB) indexWriter { return storeWriter{s.ix.NewWriter(db)} }

func (s storeIndex) candidates(ctx context.Context, r pebble.Reader, q index.Query) (index.Candidates, error) {
	return s.ix.Candidates(ctx, r, q)
}

// left is zero: what is not removed the writer says itself.
func (storeIndex) left(context.Context, string, string) (int, error) { return 0, nil }

type storeWriter struct{ w *pebbleindex.Writer }

func (s storeWriter) Put(_ context.Context, d index.Doc) error { return s.w.Put(d) }

func (s storeWriter) SetVector(_ context.Context, v index.Vector) error { return s.w.SetVector(v) }

func (s storeWriter) Update(_ context.Context, u index.Update) error { return s.w.Update(u) }

func (s storeWriter) Remove(_ context.Context, tenant, subject, id string) error {
	return s.w.Remove(tenant, subject, id)
}

func (s storeWriter) RemoveSubject(_ context.Context, tenant, subject string) (bool, error) {
	return s.w.RemoveSubject(tenant, subject)
}

func (s storeWriter) Flush(_ context.Context, b *pebble.Batch) error { return s.w.Flush(b) }

// remoteIndex is the search index in a collection of a Qdrant server. It is written before the batch is, so that it may be
// ahead of the rows and never behind them.
type remoteIndex struct {
	ix    *qdrantindex.Index
	alias string
}

func (r remoteIndex) begin(ctx context.Context) error {
	return persist(ctx, func() error {
		if err := r.ix.Drop(ctx); err != nil {
			return err
		}
		return r.ix.Create(ctx)
	})
}

func (r remoteIndex) whole(ctx context.Context) (whole bool, err error) {
	err = persist(ctx, func() error {
		exists, err := r.ix.Exists(ctx)
		if err != nil || !exists {
			whole = false
			return err
		}
		err = r.ix.Check(ctx)
		if whole = err == nil; errors.Is(err, qdrantindex.ErrSchema) {
			return nil
		}
		return err
	})
	return whole, err
}

func (r remoteIndex) serve(ctx context.Context) error {
	return persist(ctx, func() error { return r.ix.Serve(ctx, r.alias) })
}

func (r remoteIndex) writer(*pebble.DB) indexWriter { return remoteWriter{r.ix.NewWriter()} }

func (r remoteIndex) candidates(ctx context.Context, _ pebble.Reader, q index.Query) (index.Candidates, error) {
	return r.ix.Candidates(ctx, q)
}

func (r remoteIndex) left(ctx context.Context, tenant, sid string) (n int, err error) {
	all := index.Filter{Tenant: tenant, Subjects: []string{sid}, NowUS: math.MinInt64}
	err = persist(ctx, func() (err error) {
		n, err = r.ix.Count(ctx, all)
		return err
	})
	return n, err
}

// persist tries something until the server answers: a view that cannot write waits, as it does for the log.
func persist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !errors.Is(err, qdrantindex.ErrUnavailable) && !errors.Is(err, qdrantindex.ErrNotCompleted) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for search index: %w", ctx.Err())
		}
	}
}

type remoteWriter struct{ w *qdrantindex.Writer }

func (r remoteWriter) Put(ctx context.Context, d index.Doc) error {
	return persist(ctx, func() error { return r.w.Put(ctx, d) })
}

func (r remoteWriter) SetVector(ctx context.Context, v index.Vector) error {
	return persist(ctx, func() error { return r.w.SetVector(ctx, v) })
}

func (r remoteWriter) Update(ctx context.Context, u index.Update) error {
	return persist(ctx, func() error { return r.w.Update(ctx, u) })
}

func (r remoteWriter) Remove(ctx context.Context, tenant, subject, id string) error {
	return persist(ctx, func() error { return r.w.Remove(ctx, tenant, subject, id) })
}

func (r remoteWriter) RemoveSubject(ctx context.Context, tenant, subject string) (more bool, err error) {
	err = persist(ctx, func() (err error) {
		more, err = r.w.RemoveSubject(ctx, tenant, subject)
		return err
	})
	return more, err
}

func (r remoteWriter) Flush(ctx context.Context, _ *pebble.Batch) error {
	return persist(ctx, func() error { return r.w.Flush(ctx) })
}

// Qdrant is a search index outside of the views' folder.
type Qdrant struct {
	Client *qdrantindex.Client
	// Prefix begins the names of the collections, one for each generation, and is the name of the alias of the one that
	// serves. No other views may have the same.
	Prefix string
}

func (q *Qdrant) index(num uint64) searchIndex {
	return remoteIndex{ix: q.Client.Index(q.collection(num)), alias: q.Prefix}
}

func (q *Qdrant) collection(num uint64) string { return q.Prefix + "-" + genName(num) }

// indexOf returns where the search index of a generation is. That of a scratch is always with its rows.
func (l *lane) indexOf(num uint64, s *spec) searchIndex {
	if q := l.cfg.Qdrant; q != nil && num != 0 && s != nil && s.recipe.Place == PlaceQdrant {
		return q.index(num)
	}
	return storeIndex{pebbleindex.New([]byte{sortIndex})}
}

// sweepIndexes deletes the collections of generations that are gone, and the tombstones in the serving one that have done
// what they were for. No generation is being built then.
func (l *lane) sweepIndexes(ctx context.Context) error {
	q := l.cfg.Qdrant
	if q == nil || l.spec.name != Memories {
		return nil
	}
	l.mu.Lock()
	kept := map[uint64]bool{l.serving.num: true}
	for _, g := range l.retired {
		if !isClosed(g) {
			kept[g.num] = true
		}
	}
	serving, remote := l.serving.num, l.serving.spec.recipe.Place == PlaceQdrant
	l.mu.Unlock()
	names, err := q.Client.Collections(ctx)
	if err != nil {
		return fmt.Errorf("find old indexes: %w", err)
	}
	for _, name := range names {
		gen, ours := strings.CutPrefix(name, q.Prefix+"-")
		if num, ok := genNumber(gen); !ours || !ok || kept[num] {
			continue
		}
		if err := q.Client.Index(name).Drop(ctx); err != nil {
			return fmt.Errorf("delete old index: %w", err)
		}
	}
	if !remote {
		return nil
	}
	if err := q.Client.Index(q.collection(serving)).Sweep(ctx); err != nil {
		return fmt.Errorf("sweep index: %w", err)
	}
	return nil
}
