package projectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/pebbleindex"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// searchIndex is where the search index of one generation of the memories is.
type searchIndex interface {
	// begin makes it empty, for a generation that has folded nothing of a log.
	begin(ctx context.Context, log string) error
	// whole reports whether it is there, with all that was written up to a mark.
	whole(ctx context.Context, m qdrantindex.Mark) (bool, error)
	// serve tells those outside that this is the one that serves.
	serve(ctx context.Context) error
	// writer returns a writer for one batch over what is stored.
	writer(db *pebble.DB) indexWriter
	// candidates answers a query; r is a state of the generation's store.
	candidates(ctx context.Context, r pebble.Reader, q index.Query) (index.Candidates, error)
	// left counts what it has of a subject.
	left(ctx context.Context, tenant, sid string) (int, error)
}

// indexWriter collects what one batch does to the index. Flush writes it, or adds it to the batch; an index outside gets it
// under the mark next, and must be where the mark was says. It tells whether it wrote outside.
type indexWriter interface {
	Put(ctx context.Context, d index.Doc) error
	SetVector(ctx context.Context, v index.Vector) error
	Update(ctx context.Context, u index.Update) error
	Remove(ctx context.Context, tenant, subject, id string) error
	RemoveSubject(ctx context.Context, tenant, subject string) (more bool, err error)
	Flush(ctx context.Context, b *pebble.Batch, was, next qdrantindex.Mark) (wrote bool, err error)
}

// storeIndex is the search index in the store of the generation itself, in whose batches it is written.
type storeIndex struct{ ix *pebbleindex.Index }

func (storeIndex) begin(context.Context, string) error { return nil }

func (storeIndex) whole(context.Context, qdrantindex.Mark) (bool, error) { return true, nil }

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

func (s storeWriter) Flush(_ context.Context, b *pebble.Batch, _, _ qdrantindex.Mark) (wrote bool, err error) {
	return false, s.w.Flush(b)
}

// remoteIndex is the search index in a collection of a Qdrant server. It is written before the batch is, so that it may be
// ahead of the rows and never behind them.
type remoteIndex struct {
	ix    *qdrantindex.Index
	alias string
	wait  *indexWait
}

func (r remoteIndex) begin(ctx context.Context, log string) error {
	return r.wait.persist(ctx, func() error {
		if err := r.ix.Drop(ctx); err != nil {
			return err
		}
		if err := r.ix.Create(ctx); err != nil {
			return err
		}
		return r.ix.Note(ctx, qdrantindex.Mark{Log: log})
	})
}

func (r remoteIndex) whole(ctx context.Context, m qdrantindex.Mark) (whole bool, err error) {
	err = r.wait.persist(ctx, func() error {
		exists, err := r.ix.Exists(ctx)
		if err != nil || !exists {
			whole = false
			return err
		}
		if err := r.ix.Check(ctx); err != nil {
			return err
		}
		whole, err = reaches(ctx, r.ix, m)
		return err
	})
	if errors.Is(err, errIndexLost) {
		return false, nil
	}
	return whole, err
}

// reaches reports whether an index has what was written up to a mark.
func reaches(ctx context.Context, ix *qdrantindex.Index, m qdrantindex.Mark) (bool, error) {
	noted, err := ix.Noted(ctx)
	return noted.Log == m.Log && !noted.Before(m), err
}

func (r remoteIndex) serve(ctx context.Context) error {
	return r.wait.persist(ctx, func() error { return r.ix.Serve(ctx, r.alias) })
}

func (r remoteIndex) writer(*pebble.DB) indexWriter {
	return remoteWriter{ix: r.ix, w: r.ix.NewWriter(), wait: r.wait}
}

func (r remoteIndex) candidates(ctx context.Context, _ pebble.Reader, q index.Query) (index.Candidates, error) {
	if r.wait.isLost() {
		return index.Candidates{}, fmt.Errorf("%w: %w", ErrIndexUnavailable, errIndexLost)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, indexAnswer, ErrIndexUnavailable)
	defer cancel()
	found, err := r.ix.Candidates(ctx, q)
	if fails(err) || lost(err) || (err != nil && errors.Is(context.Cause(ctx), ErrIndexUnavailable)) {
		return found, fmt.Errorf("%w: %w", ErrIndexUnavailable, err)
	}
	return found, err
}

func (r remoteIndex) left(ctx context.Context, tenant, sid string) (n int, err error) {
	all := index.Filter{Tenant: tenant, Subjects: []string{sid}, NowUS: math.MinInt64}
	err = r.wait.persist(ctx, func() (err error) {
		n, err = r.ix.Count(ctx, all)
		return err
	})
	return n, err
}

// indexAnswer is how long a search index outside may take to answer a query.
const indexAnswer = 10 * time.Second

type remoteWriter struct {
	ix   *qdrantindex.Index
	w    *qdrantindex.Writer
	wait *indexWait
}

func (r remoteWriter) Put(ctx context.Context, d index.Doc) error {
	return r.wait.persist(ctx, func() error { return r.w.Put(ctx, d) })
}

func (r remoteWriter) SetVector(ctx context.Context, v index.Vector) error {
	return r.wait.persist(ctx, func() error { return r.w.SetVector(ctx, v) })
}

func (r remoteWriter) Update(ctx context.Context, u index.Update) error {
	return r.wait.persist(ctx, func() error { return r.w.Update(ctx, u) })
}

func (r remoteWriter) Remove(ctx context.Context, tenant, subject, id string) error {
	return r.wait.persist(ctx, func() error { return r.w.Remove(ctx, tenant, subject, id) })
}

func (r remoteWriter) RemoveSubject(ctx context.Context, tenant, subject string) (more bool, err error) {
	err = r.wait.persist(ctx, func() (err error) {
		more, err = r.w.RemoveSubject(ctx, tenant, subject)
		return err
	})
	return more, err
}

// Flush looks first whether the server has what it said it had: one that was set back meanwhile must not be written on.
func (r remoteWriter) Flush(ctx context.Context, _ *pebble.Batch, was, next qdrantindex.Mark) (wrote bool, err error) {
	err = r.wait.persist(ctx, func() error {
		has, err := reaches(ctx, r.ix, was)
		if err == nil && !has {
			err = fmt.Errorf("%w: it was set back", errIndexLost)
		}
		if err != nil {
			return err
		}
		wrote, err = r.w.Flush(ctx, next)
		return err
	})
	return wrote, err
}

// Qdrant is a search index outside of the views' folder.
type Qdrant struct {
	Client *qdrantindex.Client
	// Prefix begins the names of the collections, one for each generation, and is the name of the alias of the one that
	// serves. No other views may have the same.
	Prefix string
}

func (q *Qdrant) index(num uint64, w *indexWait) searchIndex {
	return remoteIndex{ix: q.Client.Index(q.collection(num)), alias: q.Prefix, wait: w}
}

func (q *Qdrant) collection(num uint64) string { return q.Prefix + "-" + genName(num) }

// indexOf returns where the search index of a generation is. That of a scratch is always with its rows.
func (l *lane) indexOf(num uint64, s *spec) searchIndex {
	if q := l.cfg.Qdrant; q != nil && num != 0 && s != nil && s.recipe.Place == PlaceQdrant {
		return q.index(num, l.waits)
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
