package qdrantindex

import (
	"context"
	"fmt"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/projectors/index"
)

// spare is how many documents more than asked for are scored at first, so that few ties need a second look.
const spare = 16

// search is one query under way.
type search struct {
	ix       *Index
	q        *index.Query
	eligible clause
	lex      *lexical
	model    model
	vector   string // the name of the vectors that are searched, "" for none
	// found are the documents read so far, by the id of their point; nil for those that have gone meanwhile.
	found map[string]*memory
}

// Count returns the number of documents that pass f. A filter that is out of range is refused with the errors of
// [index.Filter.Validate], one whose condition changes between and and or too often with [index.ErrQuery].
func (ix *Index) Count(ctx context.Context, f index.Filter) (int, error) {
	if err := f.Validate(); err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	cl, err := translate(&f)
	if err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	return ix.count(ctx, cl)
}

// Candidates returns the ranked lists for q. A query that is out of range is refused with the errors of
// [index.Query.Validate], a vector of another dimension than its model's with [index.ErrVectorDim], and a condition that
// changes between and and or too often with [index.ErrQuery].
func (ix *Index) Candidates(ctx context.Context, q index.Query) (index.Candidates, error) {
	if err := q.Validate(); err != nil {
		return index.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return index.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	cl, err := translate(&q.Filter)
	if err != nil {
		return index.Candidates{}, fmt.Errorf("find candidates: %w", err)
	}
	s := &search{ix: ix, q: &q, eligible: cl, found: make(map[string]*memory)}
	return s.run(ctx)
}

func (s *search) run(ctx context.Context) (out index.Candidates, err error) {
	if err := s.findModel(ctx); err != nil {
		return out, err
	}
	if s.eligible.known {
		return out, nil
	}
	if err := s.count(ctx, &out); err != nil || out.Eligible == 0 || s.q.K == 0 {
		return out, err
	}
	if s.lex, err = s.ix.lexical(ctx, &s.q.Filter, s.q.Terms); err != nil {
		return out, err
	}
	out.Ceiling = s.lex.ceiling()
	if len(s.lex.terms) > 0 {
		words := channel{query: s.lex.query(), using: wordsName, bound: s.lex.bound, score: s.worded}
		if out.Lexical, err = s.rank(ctx, &words, out.Eligible); err != nil {
			return out, err
		}
	}
	if s.vector != "" {
		near := channel{query: qdrant.NewQueryDense(s.q.Vector), using: s.vector, bound: s.nearest(), score: s.near}
		out.Dense, err = s.rank(ctx, &near, out.Eligible)
	}
	return out, err
}

// findModel finds the vectors to search.
func (s *search) findModel(ctx context.Context) (err error) {
	if len(s.q.Vector) == 0 {
		return nil
	}
	if s.model, err = s.ix.model(ctx, s.q.Tenant, s.q.Model); err != nil {
		return err
	}
	switch s.model.dim {
	case 0:
		return nil
	case len(s.q.Vector):
		s.vector = vectorName(s.q.Model, s.model.dim)
		return nil
	}
	return fmt.Errorf("compare dimensions: %w", index.ErrVectorDim)
}

// count counts what is eligible, and what of it has no vector to be found by.
func (s *search) count(ctx context.Context, out *index.Candidates) error {
	with := 0
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		out.Eligible, err = s.ix.count(ctx, s.eligible)
		return err
	})
	if s.vector != "" {
		group.Go(func() (err error) {
			with, err = s.ix.count(ctx, both(s.eligible, is(qdrant.NewMatchKeyword(fieldVectors, s.vector))))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err //nolint:wrapcheck // the requests say what they are.
	}
	if len(s.q.Vector) > 0 {
		out.VectorsMissing = max(out.Eligible-with, 0) // the two counts are of two instants
	}
	return nil
}

// channel is a way to rank documents: roughly by the server, and by a score that is computed here.
type channel struct {
	query *qdrant.Query
	using string
	// bound is what the score of a document stays below that the server gave a score of at most s, or did not give.
	bound func(s float32) float64
	// score computes the score of a document and what a hit says with it; false if the channel does not have the document.
	score func(m *memory, h *index.Hit) bool
}

// rank returns the first documents of a channel. It asks the server for more until those it has not seen cannot be among
// them, whatever the server's rounding and the order among equal scores.
func (s *search) rank(ctx context.Context, c *channel, eligible int) ([]index.Hit, error) {
	k := min(s.q.K, maxFetch)
	for limit := min(k+spare, maxFetch); ; limit = min(2*limit, maxFetch) {
		points, err := s.ask(ctx, c, limit)
		if err != nil {
			return nil, err
		}
		if err := s.read(ctx, points); err != nil {
			return nil, err
		}
		hits := make([]index.Hit, 0, len(points))
		for _, p := range points {
			m := s.found[p.GetId().GetUuid()]
			if m == nil {
				continue
			}
			if h := m.hit(); c.score(m, &h) {
				hits = append(hits, h)
			}
		}
		slices.SortFunc(hits, compareHits)
		all := len(points) < limit || len(points) >= eligible || limit == maxFetch
		if all || (len(hits) >= k && hits[k-1].Score > c.bound(points[len(points)-1].GetScore())) {
			return hits[:min(k, len(hits))], nil
		}
	}
}

func (s *search) ask(ctx context.Context, c *channel, limit int) ([]*qdrant.ScoredPoint, error) {
	return ask(ctx, s.ix.client, "search points", func(ctx context.Context) ([]*qdrant.ScoredPoint, error) {
		return s.ix.client.c.Query(ctx, &qdrant.QueryPoints{
			CollectionName: s.ix.collection, Query: c.query, Using: &c.using, Filter: s.eligible.filter(),
			Limit: new(uint64(limit)), Params: &qdrant.SearchParams{Exact: new(true)}, //nolint:gosec // positive.
			WithPayload: qdrant.NewWithPayloadEnable(false), WithVectors: qdrant.NewWithVectorsEnable(false),
		})
	})
}

// read reads the documents that were not read yet, with their vectors if those are searched.
func (s *search) read(ctx context.Context, points []*qdrant.ScoredPoint) error {
	var ids []*qdrant.PointId
	for _, p := range points {
		if _, ok := s.found[p.GetId().GetUuid()]; !ok {
			ids = append(ids, p.GetId())
			s.found[p.GetId().GetUuid()] = nil
		}
	}
	vectors := qdrant.NewWithVectorsEnable(false)
	if s.vector != "" {
		vectors = qdrant.NewWithVectorsInclude(s.vector)
	}
	list, err := s.ix.get(ctx, ids, vectors)
	if err != nil {
		return err
	}
	for _, p := range list {
		if !isRow(p.GetPayload(), rowDocument, s.q.Tenant) {
			continue // it has been removed since
		}
		m, err := parse(p.GetPayload(), p.GetVectors())
		if err != nil {
			return err
		}
		s.found[p.GetId().GetUuid()] = m
	}
	return nil
}

// worded scores a document by its words.
func (s *search) worded(m *memory, h *index.Hit) bool {
	h.Score = s.lex.score(&m.doc)
	if v, ok := s.vectorOf(m); ok {
		h.Other, h.InBoth = dot(s.q.Vector, v), true
	}
	return h.Score > 0
}

// near scores a document by its vector.
func (s *search) near(m *memory, h *index.Hit) bool {
	v, ok := s.vectorOf(m)
	if !ok {
		return false
	}
	h.Score = dot(s.q.Vector, v)
	h.Other, h.InBoth = s.lex.score(&m.doc), len(s.lex.terms) > 0
	return true
}

func (s *search) vectorOf(m *memory) ([]float32, bool) {
	if s.vector == "" {
		return nil, false
	}
	v, ok := m.vectors[s.q.Model]
	return v.values, ok && len(v.values) == len(s.q.Vector)
}
