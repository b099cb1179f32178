package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"github.com/annals-memory/annals/events/seal"
)

// stock is what is known of a set of rows: how many they are, and the sum of their
// hashes modulo 2^256, in which their order does not matter.
type stock struct {
	count uint64
	sum   [4]uint64
}

func (s *stock) add(m seal.Mark) {
	var carry uint64
	for i, w := range words(m) {
		s.sum[i], carry = bits.Add64(s.sum[i], w, carry)
	}
	s.count++
}

func (s *stock) remove(m seal.Mark) {
	var borrow uint64
	for i, w := range words(m) {
		s.sum[i], borrow = bits.Sub64(s.sum[i], w, borrow)
	}
	s.count--
}

func (s *stock) join(other stock) {
	var carry uint64
	for i, w := range other.sum {
		s.sum[i], carry = bits.Add64(s.sum[i], w, carry)
	}
	s.count += other.count
}

const wordBytes = 8

func words(m seal.Mark) (w [4]uint64) {
	for i := range w {
		w[i] = binary.BigEndian.Uint64(m.Hash[wordBytes*i:])
	}
	return w
}

func (s *stock) bytes() []byte {
	var b []byte
	for _, w := range s.sum {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return b
}

// stockOf is false if the sum is none.
func stockOf(count uint64, sum []byte) (s stock, ok bool) {
	if len(sum) != sha256.Size {
		return s, false
	}
	s.count = count
	for i := range s.sum {
		s.sum[i] = binary.BigEndian.Uint64(sum[wordBytes*i:])
	}
	return s, true
}

// account is what the rows of the keys have to be.
type account struct {
	// last is the revision up to which it goes, and stock that of all rows up to
	// there but those that were named as removed.
	last  uint64
	stock stock
	// known says that there is an account. Before, whatever there is is taken.
	known bool
}

// numbers is a set of positions. It is small where they lie close together.
type numbers map[uint64]*[numbersWords]uint64

const (
	numbersWords = 16
	wordBits     = 64
	numbersBits  = numbersWords * wordBits
)

func (n numbers) has(p uint64) bool {
	some := n[p/numbersBits]
	return some != nil && some[p%numbersBits/wordBits]>>(p%wordBits)&1 == 1
}

// add reports whether p is new.
func (n numbers) add(p uint64) bool {
	some := n[p/numbersBits]
	if some == nil {
		some = new([numbersWords]uint64)
		n[p/numbersBits] = some
	}
	word, bit := &some[p%numbersBits/wordBits], uint64(1)<<(p%wordBits)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

func (n numbers) clone() numbers {
	c := make(numbers, len(n))
	for at, some := range n {
		copied := *some
		c[at] = &copied
	}
	return c
}
