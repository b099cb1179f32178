package pebbleindex

import "math/bits"

// Documents of a subject are numbered in the order in which they were put. Rows that a scan reads stand together in blocks,
// since a step of a Pebble iterator costs far more than judging a row.
const (
	vectorRows   = 64                      // rows of a block of int8 rows, one word of places
	blockWords   = 2                       // words of places of a block of forward rows
	blockRows    = blockWords * vectorRows // rows of a block of forward rows
	ordinalBytes = 4                       // of a number of a document or of a block in a key
	maxOrdinal   = 1<<32 - 1
)

// places is a set of rows of a block of forward rows.
type places [blockWords]uint64

func (p *places) add(place uint32) { p[place/vectorRows] |= 1 << (place % vectorRows) }

func (p *places) has(place uint32) bool { return p[place/vectorRows]>>(place%vectorRows)&1 != 0 }

func (p *places) count() int {
	n := 0
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

// rank returns how many of the rows stand before place.
func (p *places) rank(place uint32) int {
	n := rankIn(p[place/vectorRows], place%vectorRows)
	for _, w := range p[:place/vectorRows] {
		n += bits.OnesCount64(w)
	}
	return n
}

// at returns the place of the row that as many others stand before as rank says. There must be one.
func (p *places) at(rank int) uint32 {
	for i, w := range p {
		if n := bits.OnesCount64(w); rank >= n {
			rank -= n
			continue
		}
		for ; rank > 0; rank-- {
			w &= w - 1
		}
		return uint32(i*vectorRows + bits.TrailingZeros64(w)) //nolint:gosec // below blockRows
	}
	return blockRows
}

// rankIn returns how many members of a word of places stand before place.
func rankIn(word uint64, place uint32) int { return bits.OnesCount64(word & (1<<place - 1)) }
