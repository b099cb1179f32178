package pebbleindex

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// scopeBlock is a block of forward rows of the scope. Documents of the scope are numbered in key order from zero up.
type scopeBlock struct {
	number   uint32
	first    int32 // the number of its first document
	segment  int32
	set      places
	eligible places
}

// segment is the run of blocks of one subject.
type segment struct {
	subject    []byte // lp(subject)
	begin, end int
}

// scope is what one scan over the forward rows finds.
type scope struct {
	blocks   []scopeBlock
	segments []segment
	seqs     []uint64 // by document
	lengths  []uint32 // by document
	length   uint64   // sum over all documents
	eligible int
	subjects []byte // backs the subjects of the segments
}

func (s *scope) reset() {
	s.blocks, s.segments, s.subjects = s.blocks[:0], s.segments[:0], s.subjects[:0]
	s.seqs, s.lengths = s.seqs[:0], s.lengths[:0]
	s.length, s.eligible = 0, 0
}

// add takes the next block in key order and returns it. It is good until the next call.
func (s *scope) add(subject []byte, number uint32, v *forwardView, eligible places) *scopeBlock {
	last := len(s.segments) - 1
	if last < 0 || !bytes.Equal(s.segments[last].subject, subject) {
		at := len(s.subjects)
		s.subjects = append(s.subjects, subject...)
		s.segments = append(s.segments, segment{
			subject: s.subjects[at:len(s.subjects):len(s.subjects)], begin: len(s.blocks),
		})
		last++
	}
	//nolint:gosec // fewer than 2^31 documents fit in memory
	s.blocks = append(s.blocks, scopeBlock{
		number: number, first: int32(len(s.seqs)), segment: int32(last), set: v.set, eligible: eligible,
	})
	s.segments[last].end = len(s.blocks)
	for i := range v.n {
		length := u32(v.length, i)
		s.length += uint64(length)
		s.lengths = append(s.lengths, length)
		s.seqs = append(s.seqs, u64(v.seq, i))
	}
	s.eligible += eligible.count()
	return &s.blocks[len(s.blocks)-1]
}

// blockOf returns the block that holds a document.
func (s *scope) blockOf(doc int32) *scopeBlock {
	i := sort.Search(len(s.blocks), func(i int) bool { return s.blocks[i].first > doc })
	return &s.blocks[i-1]
}

// seekError wraps the failure of an iterator, which is the only reason why it may stop early.
func seekError(it *pebble.Iterator) error {
	if err := it.Error(); err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	return nil
}

// subjectStarts returns lp(subject) for each distinct subject of the filter in key order, or one empty string for all.
func subjectStarts(f *index.Filter) [][]byte {
	if f.Subjects == nil {
		return [][]byte{nil}
	}
	starts := make([][]byte, 0, len(f.Subjects))
	for _, s := range f.Subjects {
		starts = append(starts, appendLP(nil, s))
	}
	slices.SortFunc(starts, bytes.Compare)
	return slices.CompactFunc(starts, bytes.Equal)
}

// forward walks over the blocks of forward rows of the scope of f in key order. What visit is given is gone when it returns.
func (ix *Index) forward(
	ctx context.Context, it *pebble.Iterator, f *index.Filter, visit func(subject []byte, number uint32, v *forwardView) error,
) error {
	base := ix.start(nil, sortForward, f.Tenant)
	var key []byte
	var v forwardView
	for _, start := range subjectStarts(f) {
		key = append(append(key[:0], base...), start...)
		for ok := it.SeekGE(key); ok && bytes.HasPrefix(it.Key(), key); ok = it.Next() {
			if ctx.Err() != nil {
				return fmt.Errorf("scan index: %w", context.Cause(ctx))
			}
			subject, number, fits := parsePlace(it.Key()[len(base):])
			if !fits || number > maxOrdinal/blockRows {
				return fmt.Errorf("read forward key: %w", index.ErrCorrupt)
			}
			if err := v.parse(it.Value()); err != nil {
				return err
			}
			if err := visit(subject, number, &v); err != nil {
				return err
			}
		}
		if err := seekError(it); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("scan index: %w", context.Cause(ctx))
	}
	return nil
}

// collect fills s with the documents of the scope and calls admit for each block with the places that are eligible.
func (ix *Index) collect(
	ctx context.Context, it *pebble.Iterator, f *index.Filter, s *scope, admit func(b *scopeBlock, subject []byte) error,
) error {
	m := newMatcher(f)
	return ix.forward(ctx, it, f, func(subject []byte, number uint32, v *forwardView) error {
		eligible, err := m.judge(v)
		if err != nil {
			return err
		}
		return admit(s.add(subject, number, v, eligible), subject)
	})
}

// Count returns the number of documents that pass f. A filter that is out of range is refused with the errors of
// [index.Filter.Validate].
func (ix *Index) Count(ctx context.Context, r pebble.Reader, f index.Filter) (n int, err error) {
	if err := f.Validate(); err != nil {
		return 0, fmt.Errorf("count documents: %w", err)
	}
	it, err := ix.iterator(ctx, r)
	if err != nil {
		return 0, err
	}
	defer closeInto(it, &err)
	m := newMatcher(&f)
	err = ix.forward(ctx, it, &f, func(_ []byte, _ uint32, v *forwardView) error {
		eligible, err := m.judge(v)
		n += eligible.count()
		return err
	})
	return n, err
}

func (ix *Index) iterator(ctx context.Context, r pebble.Reader) (*pebble.Iterator, error) {
	lower, upper := ix.bounds()
	it, err := r.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return nil, fmt.Errorf("open index iterator: %w", err)
	}
	return it, nil
}

// closeInto closes it and keeps the error if there is none yet.
func closeInto(it *pebble.Iterator, err *error) {
	if e := it.Close(); e != nil && *err == nil {
		*err = fmt.Errorf("close index iterator: %w", e)
	}
}
