package qdrantindex

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/qdrant/go-client/qdrant"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/projectors/index"
)

const (
	// usualLength is the average length that the stored weights of words are made for. The further the average of a scope
	// is from it, the more documents are scored to be sure of the first.
	usualLength = 32
	// looseness is more than what the server's arithmetic errs by, relative to a score.
	looseness = 1 + 1e-4

	atOnce = 8 // requests of one query under way at the same time
)

// saturation is what a term is worth in a document whose length is relative to the average, without the rarity of the term.
func saturation(tf, relative float64) float64 {
	return tf * (index.BM25K1 + 1) / (tf + index.BM25K1*(1-index.BM25B+index.BM25B*relative))
}

// slot is the dimension of the words vector that a term is in, with others.
func slot(token uint64) uint32 { return uint32(token) } //nolint:gosec // it is meant to lose what does not fit.

// sparse is the words vector of a document.
func sparse(d *index.Doc) (indices []uint32, values []float32) {
	sums := make(map[uint32]float64, len(d.Terms))
	for _, t := range d.Terms {
		sums[slot(t.Token)] += saturation(float64(t.TF), float64(d.Length)/usualLength)
	}
	return pairs(sums)
}

func pairs(sums map[uint32]float64) (indices []uint32, values []float32) {
	for i := range sums {
		indices = append(indices, i)
	}
	slices.Sort(indices)
	for _, i := range indices {
		values = append(values, float32(sums[i]))
	}
	return indices, values
}

// lexical holds the statistics of a scope for the terms of a query.
type lexical struct {
	terms   []uint64
	idf     []float64
	average float64
}

// lexical reads the statistics of the scope. Nothing outside of it has a part in them.
func (ix *Index) lexical(ctx context.Context, f *index.Filter, terms []uint64) (*lexical, error) {
	l := &lexical{terms: distinct(terms)}
	if len(l.terms) == 0 {
		return l, nil
	}
	scope := scopeOf(f)
	l.idf = make([]float64, len(l.terms))
	counts := make([]int, len(l.terms))
	var docs float64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	group.Go(func() (err error) {
		docs, l.average, err = ix.lengths(ctx, scope)
		return err
	})
	for i, t := range l.terms {
		group.Go(func() (err error) {
			counts[i], err = ix.count(ctx, both(scope, is(qdrant.NewMatchInt(fieldTerms, signed(t)))))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // the requests say what they are.
	}
	for i, n := range counts {
		df := float64(n)
		l.idf[i] = math.Log(1 + (docs-df+0.5)/(df+0.5))
	}
	return l, nil
}

// distinct drops the repetitions from a list and keeps its order.
func distinct(terms []uint64) []uint64 {
	seen := make(map[uint64]bool, len(terms))
	return slices.DeleteFunc(slices.Clone(terms), func(t uint64) bool {
		was := seen[t]
		seen[t] = true
		return was
	})
}

// lengths returns the number of documents of the scope and their average length, from how many there are of each length.
func (ix *Index) lengths(ctx context.Context, scope clause) (docs, average float64, err error) {
	if scope.known {
		return 0, 0, nil
	}
	hits, err := ask(ctx, ix.client, "read lengths", func(ctx context.Context) ([]*qdrant.FacetHit, error) {
		return ix.client.c.Facet(ctx, &qdrant.FacetCounts{
			CollectionName: ix.collection, Key: fieldLength, Filter: scope.filter(), Exact: new(true),
			Limit: new(uint64(maxFetch)),
		})
	})
	if err != nil {
		return 0, 0, err
	}
	if len(hits) >= maxFetch {
		return 0, 0, fmt.Errorf("read lengths: %w", ErrLimit)
	}
	var sum float64
	for _, h := range hits {
		docs += float64(h.GetCount())
		sum += float64(h.GetCount()) * float64(h.GetValue().GetIntegerValue())
	}
	if docs > 0 {
		average = sum / docs
	}
	return docs, average, nil
}

func (l *lexical) ceiling() float64 {
	var sum float64
	for _, idf := range l.idf {
		sum += idf * (index.BM25K1 + 1)
	}
	return sum
}

// score is the BM25 score of a document, summed in the order of the query's terms.
func (l *lexical) score(d *index.Doc) float64 {
	relative := 0.0
	if l.average > 0 {
		relative = float64(d.Length) / l.average
	}
	var sum float64
	for i, token := range l.terms {
		at := slices.IndexFunc(d.Terms, func(t index.Term) bool { return t.Token == token })
		if at >= 0 {
			sum += l.idf[i] * saturation(float64(d.Terms[at].TF), relative)
		}
	}
	return sum
}

// bound is what the score of a document stays below that the server gave a score of at most s.
func (l *lexical) bound(s float32) float64 {
	return float64(s) * looseness * max(1, l.average/usualLength)
}

// query asks for the documents with the greatest scores by the stored weights.
func (l *lexical) query() *qdrant.Query {
	sums := make(map[uint32]float64, len(l.terms))
	for i, t := range l.terms {
		sums[slot(t)] += l.idf[i]
	}
	return qdrant.NewQuerySparse(pairs(sums))
}
