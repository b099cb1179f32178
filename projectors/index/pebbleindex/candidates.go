package pebbleindex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// search is the working memory of one query.
type search struct {
	scope  scope
	dense  dense
	lex    lexical
	keyBuf []byte
}

func (ix *Index) borrow() *search {
	if s, ok := ix.scratch.Get().(*search); ok {
		s.scope.reset()
		s.dense.reset()
		return s
	}
	return &search{}
}

// Candidates returns the ranked lists for q as r sees the index when the call begins; later writes have no influence.
// A query that is out of range is refused with the errors of [index.Query.Validate], a vector of another dimension than
// its model's with [index.ErrVectorDim]. Memory is about 40 bytes for each document of the scope.
func (ix *Index) Candidates(ctx context.Context, r pebble.Reader, q index.Query) (out index.Candidates, err error) {
	if err := q.Validate(); err != nil {
		return index.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	it, err := ix.iterator(ctx, r)
	if err != nil {
		return index.Candidates{}, err
	}
	defer closeInto(it, &err)
	// A clone reads the same state as its origin, whatever r is and whatever is written in the meantime.
	other, err := it.CloneWithContext(ctx, pebble.CloneOptions{})
	if err != nil {
		return index.Candidates{}, fmt.Errorf("clone index iterator: %w", err)
	}
	defer closeInto(other, &err)
	s := ix.borrow()
	defer ix.scratch.Put(s)
	return ix.candidates(ctx, it, other, &q, s)
}

func (ix *Index) candidates(ctx context.Context, it, other *pebble.Iterator, q *index.Query, s *search) (index.Candidates, error) {
	var out index.Candidates
	admit := func(int32, *found) error { return nil }
	if len(q.Vector) > 0 {
		if err := s.dense.begin(ix, other, q); err != nil {
			return out, err
		}
		admit = s.dense.admit
	}
	if err := ix.collect(ctx, it, &q.Filter, &s.scope, admit); err != nil {
		return out, err
	}
	out.Eligible = s.scope.eligible
	out.VectorsMissing = s.dense.missing
	if q.K == 0 || s.scope.eligible == 0 {
		return out, nil
	}
	var near []scored
	if len(q.Vector) > 0 {
		var err error
		if near, err = s.dense.finish(ix, other, q, &s.scope); err != nil {
			return out, err
		}
	}
	worded, err := s.lex.score(ctx, ix, other, q, &s.scope)
	if err != nil {
		return out, err
	}
	out.Ceiling = s.lex.ceiling
	if out.Dense, err = ix.hits(it, q, s, near, s.lex.of); err != nil {
		return out, err
	}
	out.Lexical, err = ix.hits(it, q, s, worded, func(doc int32) (float64, bool, error) {
		return s.dense.of(ix, other, q, s.scope.location(doc))
	})
	return out, err
}

// hits ranks list, reads the ids of those that may be among the first K and their scores in the other channel, and cuts.
func (ix *Index) hits(
	it *pebble.Iterator, q *index.Query, s *search, list []scored, other func(doc int32) (float64, bool, error),
) ([]index.Hit, error) {
	if len(list) == 0 {
		return nil, nil
	}
	list = best(list, s.scope.docs, q.K)
	hits := make([]index.Hit, 0, len(list))
	// Reading in key order keeps the iterator going forward.
	slices.SortFunc(list, func(a, b scored) int { return cmp.Compare(a.doc, b.doc) })
	var b block
	for _, c := range list {
		loc := s.scope.location(c.doc)
		number, place := loc.ordinal/blockRows, loc.ordinal%blockRows
		s.keyBuf = ix.forwardKey(s.keyBuf[:0], q.Tenant, loc.subject, number)
		if !it.SeekGE(s.keyBuf) || !bytes.Equal(it.Key(), s.keyBuf) {
			return nil, errors.Join(seekError(it), fmt.Errorf("read found row: %w", index.ErrCorrupt))
		}
		if err := b.parse(it.Value()); err != nil {
			return nil, err
		}
		if err := checkRow(b[place]); err != nil {
			return nil, err
		}
		r := rowReader{b: b[place][offTokens:]}
		hit := index.Hit{
			ID: string(r.token()), Subject: loc.subject, Kind: index.Kind(b[place][offKind]),
			Seq: s.scope.docs[c.doc].seq, Trust: b[place][offTrust], ObservedUS: rowInt(b[place], offObserved),
			Score: c.score,
		}
		_ = r.token() // the session
		hit.Category = string(r.token())
		var err error
		if hit.Other, hit.InBoth, err = other(c.doc); err != nil {
			return nil, err
		}
		hits = append(hits, hit)
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(q.K, len(hits)):min(q.K, len(hits))], nil
}
