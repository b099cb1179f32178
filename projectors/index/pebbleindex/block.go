package pebbleindex

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/annals-memory/annals/projectors/index"
)

// Documents of a subject are numbered in the order in which they were put. Rows that a scan reads stand together in blocks,
// since a step of a Pebble iterator costs far more than judging a row.
const (
	blockRows    = 32  // rows of a block of forward rows or int8 rows
	postingSpan  = 512 // ordinals that a block of postings covers
	lengthBytes  = 4   // of the length before each row
	bitmapBytes  = 4   // of the set of rows that are there
	ordinalBytes = 4   // of a number of a document or of a block in a key
	maxOrdinal   = 1<<32 - 1
)

// block holds the rows of up to blockRows documents by their place; nil means none.
//
// Its encoding is the set of places in four bytes, the length of each row in four bytes, and the rows, all big endian.
type block [blockRows][]byte

func (b *block) empty() bool {
	return !slices.ContainsFunc(b[:], func(row []byte) bool { return row != nil })
}

func (b *block) append(to []byte) []byte {
	var set uint32
	for i, row := range b {
		if row != nil {
			set |= 1 << i
		}
	}
	to = binary.BigEndian.AppendUint32(to, set)
	for _, row := range b {
		if row != nil {
			to = binary.BigEndian.AppendUint32(to, uint32(len(row))) //nolint:gosec // far below 4 GiB
		}
	}
	for _, row := range b {
		to = append(to, row...)
	}
	return to
}

// parse reads an encoded block. The rows share the memory of value.
func (b *block) parse(value []byte) error {
	*b = block{}
	if len(value) < bitmapBytes {
		return fmt.Errorf("read block: %w", index.ErrCorrupt)
	}
	set := binary.BigEndian.Uint32(value)
	n := bits.OnesCount32(set)
	if len(value) < bitmapBytes+n*lengthBytes {
		return fmt.Errorf("read block: %w", index.ErrCorrupt)
	}
	lengths, rows := value[bitmapBytes:], value[bitmapBytes+n*lengthBytes:]
	for ; set != 0; set &= set - 1 {
		size := int(binary.BigEndian.Uint32(lengths))
		if lengths = lengths[lengthBytes:]; size == 0 || size > len(rows) {
			return fmt.Errorf("read block: %w", index.ErrCorrupt)
		}
		b[bits.TrailingZeros32(set)] = rows[:size:size]
		rows = rows[size:]
	}
	if len(rows) != 0 {
		return fmt.Errorf("read block: %w", index.ErrCorrupt)
	}
	return nil
}

// A block of postings is, for each document with the term in the order of ordinals, the place in the span less the place
// after the one before, and the frequency, both as unsigned varints.

// appendPosting appends the posting at place after one that ended at next, and returns the next place.
func appendPosting(b []byte, next, place uint32, tf uint16) ([]byte, uint32) {
	b = binary.AppendUvarint(b, uint64(place-next))
	return binary.AppendUvarint(b, uint64(tf)), place + 1
}

// postingReader reads an encoded block of postings.
type postingReader struct {
	b    []byte
	next uint32
	bad  bool
}

// read returns the next posting. ok is false at the end, and after a failure, which sets bad.
func (r *postingReader) read() (place uint32, tf uint16, ok bool) {
	if len(r.b) == 0 {
		return 0, 0, false
	}
	// Nearly all postings are of two bytes.
	if len(r.b) >= 2 && r.b[0]|r.b[1] < 0x80 {
		place, tf = r.next+uint32(r.b[0]), uint16(r.b[1])
		r.b = r.b[2:]
	} else {
		gap, n := binary.Uvarint(r.b)
		freq, m := binary.Uvarint(r.b[max(n, 0):])
		if n <= 0 || m <= 0 || gap >= postingSpan || freq > 1<<16-1 {
			r.bad = true
			return 0, 0, false
		}
		place, tf = r.next+uint32(gap), uint16(freq)
		r.b = r.b[n+m:]
	}
	r.next = place + 1
	if r.bad = place >= postingSpan || tf == 0; r.bad {
		return 0, 0, false
	}
	return place, tf, true
}
