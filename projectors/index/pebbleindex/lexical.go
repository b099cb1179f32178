package pebbleindex

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// lexical scores documents by BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond"
// (2009), with the inverse document frequency ln(1 + (N − df + ½)/(df + ½)), which is above zero for every df ≤ N.
// Terms add up in the order of the query, so that equal inputs give equal bits under any key.
type lexical struct {
	scores []float64
	found  []posting
	list   []scored
	top    floor
	// ceiling is what no score reaches.
	ceiling float64
	base    []byte
	key     []byte
}

// posting is one occurrence of a term in an eligible document.
type posting struct {
	doc int32
	tf  uint32
}

// score returns the eligible documents with a score above zero in key order. Those that cannot be among the first K may be
// left out.
func (l *lexical) score(ctx context.Context, ix *Index, it *pebble.Iterator, q *index.Query, s *scope) ([]scored, error) {
	terms := unique(q.Terms)
	l.list, l.scores, l.ceiling = l.list[:0], l.scores[:0], 0
	if len(terms) == 0 {
		return nil, nil
	}
	l.scores = slices.Grow(l.scores[:0], len(s.lengths))[:len(s.lengths)]
	clear(l.scores)
	norm := newLengthNorm(s)
	for _, term := range terms {
		df, err := l.read(ctx, ix, it, q.Tenant, term, s)
		if err != nil {
			return nil, err
		}
		idf := inverseFrequency(len(s.lengths), df)
		l.ceiling += idf * (index.BM25K1 + 1)
		for _, p := range l.found {
			l.scores[p.doc] += idf * norm.saturation(float64(p.tf), float64(s.lengths[p.doc]))
		}
	}
	l.top = floor{k: q.K, heap: l.top.heap[:0]}
	least, full := l.top.min()
	for i, x := range l.scores {
		if x <= 0 || full && x < least {
			continue
		}
		l.list = append(l.list, scored{doc: int32(i), score: x})
		l.top.offer(x)
		least, full = l.top.min()
	}
	return l.list, nil
}

// unique returns the terms without repetitions, in their order.
func unique(terms []uint64) []uint64 {
	out := make([]uint64, 0, len(terms))
	seen := make(map[uint64]bool, len(terms))
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

func inverseFrequency(n, df int) float64 {
	return math.Log1p((float64(n) - float64(df) + 0.5) / (float64(df) + 0.5))
}

// lengthNorm is the part of the score that depends on the length of a document: k1 times (1 − b + b·length/average).
type lengthNorm struct{ base, slope float64 }

func newLengthNorm(s *scope) lengthNorm {
	n := lengthNorm{base: index.BM25K1 * (1 - index.BM25B)}
	if s.length > 0 {
		n.slope = index.BM25K1 * index.BM25B * float64(len(s.lengths)) / float64(s.length)
	}
	return n
}

func (n lengthNorm) saturation(tf, length float64) float64 {
	return tf * (index.BM25K1 + 1) / (tf + n.base + n.slope*length)
}

// read puts the term's postings of eligible documents in found and returns the number of documents of the scope that have
// the term. It joins two lists in key order: the postings of the term and the documents of the scope.
func (l *lexical) read(
	ctx context.Context, ix *Index, it *pebble.Iterator, tenant string, term uint64, s *scope,
) (df int, err error) {
	l.found = l.found[:0]
	l.base = ix.postingStart(l.base[:0], tenant, term)
	n := 0 // the segment
	ok := l.seek(it, &s.segments[0])
	at := s.segments[0].begin
	for ok && bytes.HasPrefix(it.Key(), l.base) {
		if ctx.Err() != nil {
			return 0, fmt.Errorf("read postings: %w", context.Cause(ctx))
		}
		subject, number, fits := parsePlace(it.Key()[len(l.base):])
		if !fits {
			return 0, fmt.Errorf("read posting key: %w", index.ErrCorrupt)
		}
		if !bytes.Equal(subject, s.segments[n].subject) {
			if n = nextSegment(s, n, subject); n == len(s.segments) {
				break
			}
			at = s.segments[n].begin
			if !bytes.Equal(subject, s.segments[n].subject) {
				ok = l.seek(it, &s.segments[n])
				continue
			}
		}
		if number > maxOrdinal/postingSpan {
			return 0, fmt.Errorf("read posting key: %w", index.ErrCorrupt)
		}
		end, count, err := l.join(it.Value(), number*spanBlocks, s.blocks[:s.segments[n].end], at)
		if err != nil {
			return 0, err
		}
		at = end
		df += count
		ok = it.Next()
	}
	return df, seekError(it)
}

// join finds the documents of one block of postings, whose span begins with the block of forward rows with the given
// number, in blocks from at on.
func (l *lexical) join(value []byte, number uint32, blocks []scopeBlock, at int) (end, count int, err error) {
	r := postingReader{b: value}
	var b *scopeBlock
	for {
		place, tf, ok := r.read()
		if !ok {
			break
		}
		if want := number + place/blockRows; b == nil || b.number != want {
			if at = find(blocks, at, want); at == len(blocks) {
				return 0, 0, fmt.Errorf("join posting: %w", index.ErrCorrupt)
			}
			b = &blocks[at]
			if b.number != want {
				return 0, 0, fmt.Errorf("join posting: %w", index.ErrCorrupt)
			}
		}
		if place %= blockRows; !b.set.has(place) {
			return 0, 0, fmt.Errorf("join posting: %w", index.ErrCorrupt)
		}
		count++
		if b.eligible.has(place) {
			//nolint:gosec // fewer than 2^31 documents
			l.found = append(l.found, posting{doc: b.first + int32(b.set.rank(place)), tf: uint32(tf)})
		}
	}
	if r.bad {
		return 0, 0, fmt.Errorf("read postings: %w", index.ErrCorrupt)
	}
	return at, count, nil
}

func (l *lexical) seek(it *pebble.Iterator, seg *segment) bool {
	l.key = append(append(l.key[:0], l.base...), seg.subject...)
	return it.SeekGE(l.key)
}

// nextSegment returns the first segment from n on that does not stand before subject.
func nextSegment(s *scope, n int, subject []byte) int {
	rest := s.segments[n:]
	return n + sort.Search(len(rest), func(i int) bool { return bytes.Compare(rest[i].subject, subject) >= 0 })
}

// find returns the first place in blocks from at on that is not before number: by a few steps when it is near, as it is for
// a frequent term, and by bisection when it is not.
func find(blocks []scopeBlock, at int, number uint32) int {
	for step := 0; at < len(blocks) && blocks[at].number < number; step++ {
		if step > nearby {
			// Each number between is taken at most once.
			end := min(len(blocks), at+int(number-blocks[at].number))
			return at + sort.Search(end-at, func(i int) bool { return blocks[at+i].number >= number })
		}
		at++
	}
	return at
}

// of returns the score of one document of the scope, and whether the query has words.
func (l *lexical) of(doc int32) (float64, bool) {
	if len(l.scores) == 0 {
		return 0, false
	}
	return l.scores[doc], true
}
