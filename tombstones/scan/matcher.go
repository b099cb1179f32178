package scan

import (
	"bytes"
	"math/bits"
)

const (
	// shortMin is the least length of any pattern.
	shortMin = MinWord
	// longMin is from which length on patterns are searched for by their own
	// matcher, which the short ones would slow down.
	longMin = 8
	// maxWindow bounds how far a matcher looks at once.
	maxWindow = 12

	minBits, maxBits = 16, 20
)

// matcher finds many patterns at once. It looks at the end of a window as long
// as the shortest pattern, and moves by as much as the bytes there allow in any
// pattern: with few patterns nearly by the whole window, which is why it is
// quicker than an automaton that looks at every byte.
type matcher struct {
	list   []pattern
	window int
	block  int // how many bytes at the end are looked at: 2 or 3
	bits   int
	// shift says by how much to move, by the hash of a block.
	shift []uint8
	// head is the first pattern by the hash of the block at the end of its window,
	// next the one after each. They count from 1.
	head, next []int32
}

// newMatcher makes a matcher of patterns of at least shortMin bytes.
func newMatcher(list []pattern) *matcher {
	m := &matcher{list: list, window: maxWindow}
	for _, p := range list {
		m.window = min(m.window, len(p.bytes))
	}
	m.block, m.bits = 2, minBits
	if m.window >= longMin {
		m.block = 3
		m.bits = min(max(bits.Len(uint(8*m.window*len(list))), minBits), maxBits)
	}
	m.shift, m.head, m.next = make([]uint8, 1<<m.bits), make([]int32, 1<<m.bits), make([]int32, len(list))
	for i := range m.shift {
		m.shift[i] = uint8(m.window - m.block + 1) //nolint:gosec // At most maxWindow.
	}
	for i, p := range list {
		for end := m.block; end <= m.window; end++ {
			h := m.hash(p.bytes[end-m.block : end])
			m.shift[h] = min(m.shift[h], uint8(m.window-end)) //nolint:gosec // At most maxWindow.
			if end == m.window {
				m.next[i], m.head[h] = m.head[h], int32(i)+1
			}
		}
	}
	return m
}

func (m *matcher) hash(b []byte) uint32 {
	if m.block == 2 {
		return uint32(b[0]) | uint32(b[1])<<8
	}
	return hash3(b[0], b[1], b[2], m.bits)
}

func hash3(a, b, c byte, bits int) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> (32 - bits)
}

// find calls emit for every place of every pattern in b, in the order of the
// places.
func (m *matcher) find(b []byte, emit func(start int, p *pattern)) {
	if m.block == 2 {
		m.find2(b, emit)
	} else {
		m.find3(b, emit)
	}
}

func (m *matcher) find2(b []byte, emit func(start int, p *pattern)) {
	shift := (*[1 << minBits]uint8)(m.shift)
	for end := m.window; end <= len(b); {
		h := uint16(b[end-2]) | uint16(b[end-1])<<8
		if by := shift[h]; by > 0 {
			end += int(by)
			continue
		}
		m.verify(b, end-m.window, uint32(h), emit)
		end++
	}
}

func (m *matcher) find3(b []byte, emit func(start int, p *pattern)) {
	shift, bits := m.shift, m.bits
	for end := m.window; end <= len(b); {
		h := hash3(b[end-3], b[end-2], b[end-1], bits)
		if by := shift[h]; by > 0 {
			end += int(by)
			continue
		}
		m.verify(b, end-m.window, h, emit)
		end++
	}
}

func (m *matcher) verify(b []byte, start int, h uint32, emit func(start int, p *pattern)) {
	for i := m.head[h]; i > 0; i = m.next[i-1] {
		if p := &m.list[i-1]; bytes.HasPrefix(b[start:], p.bytes) {
			emit(start, p)
		}
	}
}
