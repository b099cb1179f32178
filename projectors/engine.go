package projectors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
)

// A folder is the fold of one projection over one generation. It is used by one goroutine at a time.
type folder interface {
	// fold folds one commit. An error that is a *parkError must be returned before the first write of the commit; any
	// other is fatal and the folder is not used again.
	fold(ctx context.Context, it *item) error
	// about are the records that a commit is about and that this view knows leftovers of, and whether it must stay in the log.
	about(r *events.Recorded) (about []matter, stays bool, err error)
	// owner is whose a commit of an aggregate is that cannot be decoded.
	owner(a events.Aggregate) (p matter, found bool, err error)
	// stages clear what the view has of a forgotten subject, one after the other.
	stages() []clearStage
	// flush writes what the folder has held back, before a batch is applied.
	flush(ctx context.Context, b *pebble.Batch) error
	// applied is called after a batch was applied.
	applied()
}

// parkError says that a commit cannot be folded. Cause is a stable code.
type parkError struct{ cause string }

func (e *parkError) Error() string { return "commit cannot be folded: " + e.cause }

func park(cause string) error { return &parkError{cause: cause} }

// The causes of parking.
const (
	causeUnknownType = "unknown_type"
	causeCorrupt     = "corrupt"
	causeMisplaced   = "misplaced"
	causeBadToken    = "bad_token"
	causeTampered    = "tampered"
	causeBadContent  = "bad_content"
	causeBadVector   = "bad_vector"
	causeForeign     = "foreign_subject"
	causeBehind      = "behind"
)

// engine folds commits into one generation and keeps the batch that is not yet applied.
type engine struct {
	spec   *spec
	db     *pebble.DB
	index  searchIndex
	b      *pebble.Batch
	state  viewState
	tombs  *tombs
	folder folder
	// settle asks for the batch to be applied when the commit at hand is folded: what it wrote will be read.
	settle bool
	// companies are the counts of the rows of that sort that the batch at hand writes, by key.
	companies map[string]uint64
	// sums are those of the subjects whose records the batch at hand touches, by key.
	sums map[string]*subjectSum
	// clearings are what is not cleared, the oldest first.
	clearings []*clearing
	// gather is how many chunks go into one batch, for a generation that serves nobody yet; less than two is each into its own.
	gather, gathered int
	// publish is told the state after each batch that was applied.
	publish func(viewState)
}

func newEngine(g *generation, publish func(viewState)) (*engine, error) {
	s, db := g.spec, g.db
	state, err := readState(db)
	if err != nil {
		return nil, err
	}
	t, err := loadTombs(db)
	if err != nil {
		return nil, err
	}
	clearings, err := loadClearings(db)
	if err != nil {
		return nil, err
	}
	e := &engine{
		spec: s, db: db, index: g.index, b: db.NewBatch(), state: state, tombs: t, publish: publish, companies: make(map[string]uint64),
		sums: make(map[string]*subjectSum), clearings: clearings,
	}
	if len(clearings) > 0 {
		e.state.clearing = clearings[0].position
	}
	if e.folder, err = s.folder(e); err != nil {
		return nil, err
	}
	return e, nil
}

// begin marks an empty view as one of this log.
func (e *engine) begin(ctx context.Context, identity string) error {
	e.state = viewState{format: e.spec.format, identity: identity}
	e.state.indexed.Log = identity
	return e.commit(ctx)
}

// apply folds one chunk and moves the position to its end.
func (e *engine) apply(ctx context.Context, c *chunk) error {
	if c.last.position <= e.state.position {
		return nil
	}
	if c.spec != e.spec { // it was read ahead of a switch
		if err := e.spec.ready(ctx, c.items); err != nil {
			return err
		}
	}
	for i := range c.items {
		it := &c.items[i]
		if it.position <= e.state.position {
			continue
		}
		if err := e.step(ctx, it); err != nil {
			return err
		}
		e.state.position, e.state.commit = it.position, it.commit
		if e.settle {
			if err := e.commit(ctx); err != nil {
				return err
			}
		}
	}
	e.state.position, e.state.commit = c.last.position, c.last.commit
	if e.gathered++; e.gathered < e.gather {
		return nil
	}
	return e.commit(ctx)
}

// step folds or parks one commit.
func (e *engine) step(ctx context.Context, it *item) error {
	behind, err := e.behind(it)
	if err != nil {
		return err
	}
	if behind {
		return e.parkBehind(ctx, it)
	}
	if err := e.try(ctx, it); err != nil {
		if p := (*parkError)(nil); errors.As(err, &p) {
			return e.park(it, p.cause)
		}
		return err
	}
	return nil
}

func (e *engine) try(ctx context.Context, it *item) error {
	if it.err != nil {
		return it.err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("fold: %w", err)
	}
	return e.folder.fold(ctx, it)
}

// commit applies the batch with the state.
func (e *engine) commit(ctx context.Context) error {
	e.settle, e.gathered = false, 0
	if err := e.folder.flush(ctx, e.b); err != nil {
		return err
	}
	if err := e.writeSums(); err != nil {
		return err
	}
	if err := e.b.Set(stateKey(), e.state.encode(), nil); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	if err := e.db.Apply(e.b, pebble.NoSync); err != nil {
		return fmt.Errorf("apply batch: %w", err)
	}
	if err := e.b.Close(); err != nil {
		return fmt.Errorf("close batch: %w", err)
	}
	e.b = e.db.NewBatch()
	clear(e.companies)
	e.folder.applied()
	if e.publish != nil {
		e.publish(e.state)
	}
	return nil
}

// set writes a row that is not a record.
func (e *engine) set(key, value []byte) error {
	if err := e.b.Set(key, value, nil); err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	return nil
}

// unset deletes a row that is not a record.
func (e *engine) unset(key []byte) error {
	if err := e.b.Delete(key, nil); err != nil {
		return fmt.Errorf("delete row: %w", err)
	}
	return nil
}

// put writes a record in place of the one whose digest is old, zero if there was none, and returns its digest.
func (e *engine) put(key, value []byte, old digest) (digest, error) {
	return e.putOf(sumOfRow(key), key, value, old)
}

// putOf is put for a record whose key does not tell of which subject it is: that of the sum of the key given, nil for nobody.
func (e *engine) putOf(sum, key, value []byte, old digest) (digest, error) {
	d := rowDigest(key, value)
	var added int64
	if old == (digest{}) {
		e.state.records++
		added = 1
	}
	e.state.digest.sub(old)
	e.state.digest.add(d)
	if err := e.count(sum, key[0], added, old, d); err != nil {
		return d, err
	}
	return d, e.set(key, value)
}

// remove deletes a record whose digest is old; zero means that there is none.
func (e *engine) remove(key []byte, old digest) error {
	if old == (digest{}) {
		return nil
	}
	e.state.records--
	e.state.digest.sub(old)
	if err := e.count(sumOfRow(key), key[0], -1, old, digest{}); err != nil {
		return err
	}
	return e.unset(key)
}

// bury writes a tombstone unless there is one, and says whether it did. It is read back by the next commit, so the batch
// settles. It marks the tenant in any case: a crash may have cut the fold of that very tombstone off, and a purge may have
// come before what is deleted now.
func (e *engine) bury(tenant string, k key, erasure string, r *events.Recorded) (buried bool, err error) {
	e.settle = true
	if err := e.unpurged(tenant, r.Position); err != nil {
		return false, err
	}
	dead, err := e.tombs.has(k)
	if err != nil || dead {
		return false, err
	}
	e.tombs.add(k)
	_, err = e.put(k, encodeTomb(erasure, r), digest{})
	return err == nil, err
}

// visit hands every row under a prefix to each, and applies the batch before each page of them. Each must not add or
// remove rows under the prefix.
func (e *engine) visit(ctx context.Context, prefix []byte, each func(key, value []byte) error) error {
	type row struct{ key, value []byte }
	var from []byte
	for {
		if err := e.commit(ctx); err != nil {
			return err
		}
		rows := make([]row, 0, page)
		err := scan(e.db, prefix, from, func(key, value []byte) (bool, error) {
			rows = append(rows, row{append([]byte(nil), key...), append([]byte(nil), value...)})
			return len(rows) < page, nil
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := each(r.key, r.value); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
		from = slices.Concat(rows[len(rows)-1].key, []byte{0})
	}
}
