package pebbleindex

import "encoding/binary"

const (
	// spanBlocks is the number of blocks of forward rows whose documents a block of postings covers.
	spanBlocks = 16
	// postingSpan is the number of ordinals that a block of postings covers.
	postingSpan = spanBlocks * blockRows
)

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
