package projectors

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// defaultLimit is the number of rows of a page if the caller names none.
const defaultLimit = 100

// Snapshot is all views as they stand at one moment: each consistent, at its own position. It must be closed, and soon: an
// open snapshot keeps deleted rows on disk. It is safe for concurrent use until it is closed.
type Snapshot struct {
	facts, memories, traces *pebble.Snapshot
	index                   searchIndex
	spec                    *spec // of the memories
	terms                   func(text string) []string
	held                    []lease
	position                uint64
	// holds are counted in the views that know them.
	holds   uint64
	heldSet func() map[subjectID]bool
	// gone has what was found of the subjects that were asked for: the memories of one answer are of few.
	gone sync.Map
	// version is of the sources, which sources keeps between snapshots.
	version sourcesVersion
	sources *sourceCache
}

// Snapshot returns the views as they stand. It must be closed.
func (v *Views) Snapshot(ctx context.Context) (*Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("take snapshot: %w", err)
	}
	s := &Snapshot{sources: &v.sources}
	for i, l := range v.lanes {
		g, err := l.acquire()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.held = append(s.held, g)
		snap := g.db.NewSnapshot()
		state, stateErr := readState(snap)
		switch l.spec.name {
		case Facts:
			s.facts, s.version.facts, s.version.factsCount = snap, g.db, state.sources
		case Memories:
			s.memories, s.version.memories, s.version.memoryCount = snap, g.db, state.sources
			s.index, s.spec, s.terms = g.index, g.spec, v.cfg.terms(g.spec.recipe.Tokenizer)
		case Traces:
			s.traces = snap
		}
		if stateErr != nil {
			return nil, errors.Join(stateErr, s.Close())
		}
		if i == 0 || state.position < s.position {
			s.position = state.position
		}
		s.holds = max(s.holds, state.holds)
	}
	s.heldSet = sync.OnceValue(s.loadHolds)
	return s, nil
}

// TombstonesOf returns one page of the tombstones of one erasure, in a fixed order, and the cursor of the next page, empty if
// there is none. A record that was forgotten before the erasure named it is not among them, nor are the records of a subject
// whose own tombstone stands for them.
func (s *Snapshot) TombstonesOf(tenant, erasure, after string, limit int) (rows []Tombstone, next string, err error) {
	limit = pageLimit(limit)
	prefix := erasurePrefix(tenant, erasure)
	from, err := cursorUnder(after, prefix)
	if err != nil {
		return nil, "", err
	}
	err = scan(s.memories, prefix, from, func(k, _ []byte) (bool, error) {
		if len(rows) == limit {
			next = cursor(k)
			return false, nil
		}
		tk, err := tombOfErasure(tenant, k[len(prefix):])
		if err != nil {
			return false, err
		}
		t, err := s.tomb(tk)
		if errors.Is(err, events.ErrNotFound) {
			err = errRow(sortErasure)
		}
		rows = append(rows, t)
		return true, err
	})
	return rows, next, err
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	var errs []error
	for _, snap := range []*pebble.Snapshot{s.facts, s.memories, s.traces} {
		if snap != nil {
			errs = append(errs, snap.Close())
		}
	}
	s.facts, s.memories, s.traces = nil, nil, nil
	for _, g := range s.held {
		errs = append(errs, g.release())
	}
	s.held = nil
	return errors.Join(errs...)
}

// Position returns the lowest of the positions of the views in the snapshot.
func (s *Snapshot) Position() uint64 { return s.position }

// Recipe is what the search index was made with. A query has to be embedded by its model, and cut by [Snapshot.Terms].
func (s *Snapshot) Recipe() Recipe { return s.spec.recipe }

// Terms cuts a text as the texts in the search index were cut. It finds nothing if their tokenizer is not known any more.
func (s *Snapshot) Terms(text string) []string { return s.terms(text) }

// Candidates asks the search index. Facts with several valid intervals are indexed under the hull of them: check again.
// A vector of another model than the index was made with is [ErrOtherModel].
func (s *Snapshot) Candidates(ctx context.Context, q index.Query) (index.Candidates, error) {
	if model := s.spec.recipe.Model; len(q.Vector) > 0 && model != "" && model != q.Model {
		return index.Candidates{}, fmt.Errorf("find candidates: %w", ErrOtherModel)
	}
	c, err := s.index.candidates(ctx, s.memories, q)
	if err != nil {
		return index.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	return c, nil
}

// SubjectForgotten reports whether the subject has a tombstone in any view. If that cannot be read it has.
func (s *Snapshot) SubjectForgotten(tenant, sid string) bool {
	id := subjectID{tenant, sid}
	if gone, known := s.gone.Load(id); known {
		return gone == true
	}
	gone := s.readSubjectForgotten(id)
	s.gone.Store(id, gone)
	return gone
}

func (s *Snapshot) readSubjectForgotten(id subjectID) bool {
	k := subjectTombKey(id.tenant, id.sid)
	for _, r := range []pebble.Reader{s.facts, s.memories, s.traces} {
		if gone, err := has(r, k); gone || err != nil {
			return true
		}
	}
	return false
}

// tomb reads a tombstone from the memories, which have those of every kind.
func (s *Snapshot) tomb(k key) (t Tombstone, err error) {
	found, err := get(s.memories, k, func(value []byte) error {
		t, err = decodeTomb(k, value)
		return err
	})
	if err == nil && !found {
		err = events.ErrNotFound
	}
	return t, err
}

// Tombstones returns one page of the tombstones of a tenant, in a fixed order, and the cursor of the next page, empty if
// there is none.
func (s *Snapshot) Tombstones(tenant, after string, limit int) (rows []Tombstone, next string, err error) {
	limit = pageLimit(limit)
	from, err := parseCursor(after)
	if err != nil {
		return nil, "", err
	}
	for _, sort := range []byte{sortSubjectTomb, sortTomb} {
		prefix := newKey(sort).part(tenant)
		if len(from) > 0 && (from[0] > sort) {
			continue
		}
		start := from
		if len(from) > 0 && from[0] < sort {
			start = nil
		}
		err := scan(s.memories, prefix, start, func(k, value []byte) (bool, error) {
			if len(rows) == limit {
				next = cursor(k)
				return false, nil
			}
			t, err := decodeTomb(k, value)
			rows = append(rows, t)
			return true, err
		})
		if err != nil || next != "" {
			return rows, next, err
		}
	}
	return rows, "", nil
}
