package pebbleindex

import "encoding/binary"

// The sorts of keys. They lie between sortDim and sortEnd.
const (
	sortDim     = 'd'
	sortForward = 'f'
	sortID      = 'i'
	sortPosting = 'p'
	sortRescore = 'r'
	sortTerms   = 't'
	sortVector  = 'v'
	sortEnd     = 'w'
)

// location is where the rows of one document stand.
type location struct {
	subject string
	ordinal uint32
}

func appendLP(b []byte, s string) []byte {
	b = append(b, byte(len(s))) //nolint:gosec // tokens are validated to be at most 255 bytes
	return append(b, s...)
}

// cutLP returns the first length-prefixed part of b with its length byte, and the rest. ok is false when b is too short.
func cutLP(b []byte) (lp, rest []byte, ok bool) {
	if len(b) == 0 || len(b) < 1+int(b[0]) {
		return nil, nil, false
	}
	n := 1 + int(b[0])
	return b[:n:n], b[n:], true
}

// appendPlace appends lp(subject) and a number, which all ranges that hold documents end with: an ordinal where every
// document has a row, and the number of a block elsewhere.
func appendPlace(b []byte, subject string, number uint32) []byte {
	return binary.BigEndian.AppendUint32(appendLP(b, subject), number)
}

// parsePlace reads what appendPlace wrote.
func parsePlace(b []byte) (subject []byte, number uint32, ok bool) {
	lp, rest, ok := cutLP(b)
	if !ok || len(rest) != ordinalBytes {
		return nil, 0, false
	}
	return lp, binary.BigEndian.Uint32(rest), true
}

// start returns the beginning of all keys of one sort and tenant.
func (ix *Index) start(b []byte, sort byte, tenant string) []byte {
	b = append(b, ix.prefix...)
	b = append(b, sort)
	return appendLP(b, tenant)
}

func (ix *Index) dimKey(b []byte, tenant, model string) []byte {
	return appendLP(ix.start(b, sortDim, tenant), model)
}

func (ix *Index) idKey(b []byte, tenant, id string) []byte {
	return appendLP(ix.start(b, sortID, tenant), id)
}

// forwardKey makes the key of a block of forward rows.
func (ix *Index) forwardKey(b []byte, tenant, subject string, number uint32) []byte {
	return appendPlace(ix.start(b, sortForward, tenant), subject, number)
}

func (ix *Index) termsKey(b []byte, tenant string, l location) []byte {
	return appendPlace(ix.start(b, sortTerms, tenant), l.subject, l.ordinal)
}

// vectorKey makes the key of a block of int8 rows.
func (ix *Index) vectorKey(b []byte, tenant, model, subject string, number uint32) []byte {
	return appendPlace(appendLP(ix.start(b, sortVector, tenant), model), subject, number)
}

// rescoreKey makes the key of a vector as float32. subject is lp(subject).
func (ix *Index) rescoreKey(b []byte, tenant, model string, subject []byte, ordinal uint32) []byte {
	b = append(appendLP(ix.start(b, sortRescore, tenant), model), subject...)
	return binary.BigEndian.AppendUint32(b, ordinal)
}

func (ix *Index) postingStart(b []byte, tenant string, term uint64) []byte {
	return binary.BigEndian.AppendUint64(ix.start(b, sortPosting, tenant), term)
}

// postingKey makes the key of a block of postings.
func (ix *Index) postingKey(b []byte, tenant string, term uint64, subject string, number uint32) []byte {
	return appendPlace(ix.postingStart(b, tenant, term), subject, number)
}
