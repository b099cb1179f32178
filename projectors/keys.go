package projectors

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"
)

// The sorts of keys; see the package comment.
const (
	sortState         = '!'
	sortParked        = '#'
	sortParkedMark    = '?'
	sortTrace         = 'A'
	sortFromEpisode   = 'B'
	sortFromSubject   = 'C'
	sortSubjectTomb   = 'D'
	sortEpisode       = 'E'
	sortFact          = 'F'
	sortSubjectTraces = 'G'
	sortHold          = 'H'
	sortID            = 'I'
	sortSum           = 'J'
	sortContent       = 'K'
	sortLeftover      = 'L'
	sortCompany       = 'M'
	sortNow           = 'N'
	sortEpisodeOrder  = 'O'
	sortUnpurged      = 'P'
	sortReview        = 'Q'
	sortReviewed      = 'q'
	sortRevision      = 'R'
	sortSlot          = 'S'
	sortTomb          = 'T'
	sortUnopened      = 'U'
	sortVector        = 'V'
	sortIndex         = 'X'
	sortSource        = 'W'
	sortErasure       = 'Y'
	sortClearing      = 'Z'
)

// isRecord reports whether rows of a sort are part of the digest.
func isRecord(sort byte) bool {
	switch sort {
	case sortSubjectTomb, sortTomb, sortFact, sortRevision, sortEpisode, sortTrace, sortHold, sortSource:
		return true
	}
	return false
}

// The kinds of records in keys.
const (
	kindEpisode byte = 'e'
	kindFact    byte = 'f'
	kindSubject byte = 's'
	kindTrace   byte = 't'
)

const (
	positionLen = 8
	orderLen    = positionLen + 2
	// maxPart is the greatest length of a component with one byte for its length.
	maxPart = 255
)

// order is the place of a fact in the order of proposal.
type order struct {
	position uint64
	index    uint16
}

// key puts keys together. Its methods return the longer key, which shares memory with the shorter one.
type key []byte

func newKey(sort byte) key { return append(make(key, 0, 128), sort) }

func (k key) part(s string) key {
	k = append(k, byte(len(s))) //nolint:gosec // lengths are checked before a fold writes.
	return append(k, s...)
}

func (k key) byte(c byte) key { return append(k, c) }

func (k key) position(p uint64) key { return binary.BigEndian.AppendUint64(k, p) }

func (k key) order(o order) key {
	return binary.BigEndian.AppendUint16(k.position(o.position), o.index)
}

// cutPart splits the first component off.
func cutPart(b []byte) (part string, rest []byte, ok bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return "", nil, false
	}
	n := 1 + int(b[0])
	return string(b[1:n]), b[n:], true
}

func cutPosition(b []byte) (position uint64, ok bool) {
	if len(b) < positionLen {
		return 0, false
	}
	return binary.BigEndian.Uint64(b), true
}

func cutOrder(b []byte) (o order, ok bool) {
	if len(b) < orderLen {
		return order{}, false
	}
	o = order{position: binary.BigEndian.Uint64(b), index: binary.BigEndian.Uint16(b[positionLen:])}
	return o, true
}

// under bounds an iterator to the keys that begin with prefix.
func under(prefix []byte) *pebble.IterOptions {
	return &pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)}
}

// after returns the least key above all that begin with prefix, nil if there is none.
func after(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
