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
	scope scope
	dense dense
	lex   lexical
	near  []scored
	key   []byte
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
// its model's with [index.ErrVectorDim]. Memory is about 30 bytes for each document of the scope.
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
	admit := func(*scopeBlock, []byte) error { return nil }
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
	worded, err := s.lex.score(ctx, ix, other, q, &s.scope)
	if err != nil {
		return out, err
	}
	out.Ceiling = s.lex.ceiling
	worded = best(worded, s.scope.seqs, q.K)
	if err := s.dense.rescore(ix, other, q, &s.scope, worded); err != nil {
		return out, err
	}
	s.near = append(s.near[:0], s.dense.exact...)
	near := best(s.near, s.scope.seqs, q.K)
	details, err := ix.details(it, q, s, near, worded)
	if err != nil {
		return out, err
	}
	out.Dense = rankHits(near, q.K, details, s.lex.of)
	out.Lexical = rankHits(worded, q.K, details, s.dense.of)
	return out, nil
}

// detail is what a hit says of its document whatever its scores are.
type detail struct {
	doc int32
	hit index.Hit
}

// details reads what hits say of the documents of both lists, in key order.
func (ix *Index) details(it *pebble.Iterator, q *index.Query, s *search, near, worded []scored) ([]detail, error) {
	docs := make([]int32, 0, len(near)+len(worded))
	for _, list := range [...][]scored{near, worded} {
		for _, c := range list {
			docs = append(docs, c.doc)
		}
	}
	// Reading in key order keeps the iterator going forward.
	slices.Sort(docs)
	docs = slices.Compact(docs)
	out := make([]detail, 0, len(docs))
	var v forwardView
	var subject string
	for len(docs) > 0 {
		b := s.scope.blockOf(docs[0])
		if name := s.scope.segments[b.segment].subject[1:]; subject != string(name) {
			subject = string(name)
		}
		s.key = ix.forwardKey(s.key[:0], q.Tenant, subject, b.number)
		if !it.SeekGE(s.key) || !bytes.Equal(it.Key(), s.key) {
			return nil, errors.Join(seekError(it), fmt.Errorf("read found block: %w", index.ErrCorrupt))
		}
		if err := v.parse(it.Value()); err != nil {
			return nil, err
		}
		for ; len(docs) > 0 && docs[0] < b.first+int32(v.n); docs = docs[1:] { //nolint:gosec // at most blockRows
			hit, err := v.hit(int(docs[0] - b.first))
			if err != nil {
				return nil, err
			}
			hit.Subject = subject
			out = append(out, detail{doc: docs[0], hit: hit})
		}
	}
	return out, nil
}

// hit returns a row as a hit without its subject and scores.
func (v *forwardView) hit(rank int) (index.Hit, error) {
	tail, err := v.tail(rank)
	if err != nil {
		return index.Hit{}, err
	}
	r := rowReader{b: tail}
	h := index.Hit{
		ID: string(r.token()), Kind: index.Kind(v.kind[rank]), Seq: u64(v.seq, rank), Trust: v.trust[rank],
		ObservedUS: i64(v.observed, rank),
	}
	h.Session = string(r.token())
	h.Category = string(r.token())
	if r.bad {
		return index.Hit{}, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return h, nil
}

// rankHits makes a ranked list of at most k hits. other returns a document's score in the other channel.
func rankHits(list []scored, k int, details []detail, other func(doc int32) (float64, bool)) []index.Hit {
	if len(list) == 0 {
		return nil
	}
	hits := make([]index.Hit, len(list))
	for i, c := range list {
		at, _ := slices.BinarySearchFunc(details, c.doc, func(d detail, doc int32) int { return cmp.Compare(d.doc, doc) })
		hits[i] = details[at].hit
		hits[i].Score = c.score
		hits[i].Other, hits[i].InBoth = other(c.doc)
	}
	slices.SortFunc(hits, func(a, b index.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.ID, b.ID))
	})
	return hits[:min(k, len(hits)):min(k, len(hits))]
}
