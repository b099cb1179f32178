package pebbleindex

import (
	"encoding/binary"
	"hash/fnv"
)

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

const docnoLen = 12

// location is where the rows of one document stand.
type location struct {
	subject string
	seq     uint64
	dis     uint32
}

// firstDis returns the disambiguator that a document takes when no other one of the same Seq has it.
func firstDis(id string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	return h.Sum32()
}

func appendLP(b []byte, s string) []byte {
	b = append(b, byte(len(s)))
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

// appendLocation appends lp(subject) docno, which all ranges that hold documents end with.
func appendLocation(b []byte, l location) []byte {
	b = appendLP(b, l.subject)
	b = binary.BigEndian.AppendUint64(b, l.seq)
	return binary.BigEndian.AppendUint32(b, l.dis)
}

// parseLocation reads what appendLocation wrote.
func parseLocation(b []byte) (location, bool) {
	lp, rest, ok := cutLP(b)
	if !ok || len(rest) != docnoLen {
		return location{}, false
	}
	seq, dis := parseDocno(rest)
	return location{subject: string(lp[1:]), seq: seq, dis: dis}, true
}

func parseDocno(b []byte) (seq uint64, dis uint32) {
	return binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:])
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

// docKey makes the key of a forward row or of the row of terms.
func (ix *Index) docKey(b []byte, sort byte, tenant string, l location) []byte {
	return appendLocation(ix.start(b, sort, tenant), l)
}

// modelKey makes the key of one of the two rows of a vector.
func (ix *Index) modelKey(b []byte, sort byte, tenant, model string, l location) []byte {
	return appendLocation(appendLP(ix.start(b, sort, tenant), model), l)
}

func (ix *Index) postingStart(b []byte, tenant string, term uint64) []byte {
	return binary.BigEndian.AppendUint64(ix.start(b, sortPosting, tenant), term)
}

func (ix *Index) postingKey(b []byte, tenant string, term uint64, l location) []byte {
	return appendLocation(ix.postingStart(b, tenant, term), l)
}
