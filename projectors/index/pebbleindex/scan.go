package pebbleindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// doc is one document of the scope, in key order.
type doc struct {
	seq      uint64
	ordinal  uint32
	length   uint32
	segment  int32
	eligible bool
}

// segment is the run of documents of one subject in the list of documents.
type segment struct {
	subject    []byte // lp(subject)
	begin, end int
}

// scope is what one scan over the forward rows finds.
type scope struct {
	docs     []doc
	segments []segment
	length   uint64 // sum over all documents
	eligible int
	subjects []byte // backs the subjects of the segments
}

func (s *scope) reset() {
	s.docs, s.segments, s.subjects = s.docs[:0], s.segments[:0], s.subjects[:0]
	s.length, s.eligible = 0, 0
}

func (s *scope) location(i int32) location {
	d := s.docs[i]
	return location{subject: string(s.segments[d.segment].subject[1:]), ordinal: d.ordinal}
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

// found is one forward row as the scan meets it. Its memory is gone when the scan goes on.
type found struct {
	suffix  []byte // lp(subject) and the number of the block
	subject []byte // lp(subject)
	ordinal uint32
	row     []byte
}

// forward walks over the forward rows of the scope of f in key order.
func (ix *Index) forward(ctx context.Context, it *pebble.Iterator, f *index.Filter, visit func(r *found) error) error {
	base := ix.start(nil, sortForward, f.Tenant)
	var key []byte
	for _, start := range subjectStarts(f) {
		key = append(append(key[:0], base...), start...)
		for ok := it.SeekGE(key); ok && bytes.HasPrefix(it.Key(), key); ok = it.Next() {
			if ctx.Err() != nil {
				return fmt.Errorf("scan index: %w", context.Cause(ctx))
			}
			if err := forwardBlock(it.Key()[len(base):], it.Value(), visit); err != nil {
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

func forwardBlock(suffix, value []byte, visit func(r *found) error) error {
	subject, number, ok := parsePlace(suffix)
	if !ok {
		return fmt.Errorf("read forward key: %w", index.ErrCorrupt)
	}
	var b block
	if err := b.parse(value); err != nil {
		return err
	}
	r := found{suffix: suffix, subject: subject}
	for i, row := range b {
		if row == nil {
			continue
		}
		if err := checkRow(row); err != nil {
			return err
		}
		r.ordinal, r.row = number*blockRows+uint32(i), row
		if err := visit(&r); err != nil {
			return err
		}
	}
	return nil
}

// collect fills s with the documents of the scope and calls admit for each eligible one.
func (ix *Index) collect(
	ctx context.Context, it *pebble.Iterator, f *index.Filter, s *scope, admit func(i int32, r *found) error,
) error {
	m := newMatcher(f)
	return ix.forward(ctx, it, f, func(r *found) error {
		i := len(s.docs)
		last := len(s.segments) - 1
		if last < 0 || !bytes.Equal(s.segments[last].subject, r.subject) {
			at := len(s.subjects)
			s.subjects = append(s.subjects, r.subject...)
			s.segments = append(s.segments, segment{subject: s.subjects[at:len(s.subjects):len(s.subjects)], begin: i})
			last++
		}
		s.segments[last].end = i + 1
		d := doc{
			seq: binary.BigEndian.Uint64(r.row[offSeq:]), ordinal: r.ordinal,
			segment: int32(last), //nolint:gosec // fewer than 2^31 documents fit in memory
			length:  binary.BigEndian.Uint32(r.row[offLength:]), eligible: m.match(r.row),
		}
		s.docs = append(s.docs, d)
		s.length += uint64(d.length)
		if !d.eligible {
			return nil
		}
		s.eligible++
		return admit(int32(i), r) //nolint:gosec // fewer than 2^31 documents fit in memory
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
	err = ix.forward(ctx, it, &f, func(r *found) error {
		if m.match(r.row) {
			n++
		}
		return nil
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
