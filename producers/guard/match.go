package guard

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// Classes that are not sets of words.
const (
	classStart   = "^" // the beginning of a sentence
	classAddress = "@" // an e-mail address
)

const (
	idStart int32 = iota
	idAddress
)

// unlessUnits is how far before a match what undoes it may lie.
const unlessUnits = 4 * wordUnits

// never is a place before every text.
const never = -1 << 20

// scored is the id of a rule with its score.
type scored struct {
	id    string
	score int
}

// pattern is a sequence of steps, each at most its gap after the one before.
type pattern struct {
	rule   int32
	steps  []step
	unless []int32
	not    []int32
	// base is where the pattern's steps begin in the state of a match.
	base int32
}

type step struct {
	gap     int32
	classes []int32
}

// use says that a class is a step of a pattern.
type use struct {
	pattern, step int32
}

// index prepares the tables that a match reads.
func (s *Scanner) index() {
	classes := idAddress + 1
	for _, e := range s.words.outs {
		classes = max(classes, e.id+1)
	}
	s.uses = make([][]use, classes)
	s.breaks = make([][]int32, classes)
	base := int32(0)
	for i := range s.patterns {
		p := &s.patterns[i]
		p.base = base
		base += int32(len(p.steps)) //nolint:gosec // Rules are small.
		for j, st := range p.steps {
			for _, c := range st.classes {
				s.uses[c] = append(s.uses[c], use{int32(i), int32(j)})
			}
		}
		for _, c := range p.not {
			s.breaks[c] = append(s.breaks[c], int32(i))
		}
	}
	s.states = int(base)
	for _, u := range s.uses {
		// Later steps first: one place of the text is one step at most.
		slices.SortStableFunc(u, func(x, y use) int {
			return cmp.Or(cmp.Compare(x.pattern, y.pattern), cmp.Compare(y.step, x.step))
		})
	}
}

// match is the state of one pass over words.
type match struct {
	scanner *Scanner
	// last is, for every step, where the latest match up to it ended.
	last []int32
	// seen is where each class was seen last.
	seen []int32
	// broken is where each pattern was undone last.
	broken []int32
	hits   []bool
}

func (s *Scanner) newMatch(hits []bool) *match {
	all := make([]int32, s.states+len(s.uses)+len(s.patterns))
	m := &match{
		scanner: s, hits: hits,
		last: all[:s.states], seen: all[s.states : s.states+len(s.uses)], broken: all[s.states+len(s.uses):],
	}
	m.reset()
	return m
}

func (m *match) reset() {
	for _, l := range [][]int32{m.last, m.seen, m.broken} {
		for i := range l {
			l[i] = never
		}
	}
}

// run looks for every pattern in one pass. Its time is that of the tokens: at
// each, the walk is as long as the longest entry at most, and every pattern's
// state is one number per step.
func (m *match) run(w words) {
	m.reset()
	t := m.scanner.words
	for _, k := range w.tokens {
		if k.first {
			m.meet(idStart, k.unit-1, k.unit-1)
		}
		if k.address {
			m.meet(idAddress, k.unit, k.unit+wordUnits-1)
		}
		unit := k.unit - 1 // the last unit that is read
		node := int32(0)
		for i := int(k.at); i < len(w.text); i++ {
			b := w.text[i]
			if node = t.step(node, b); node == 0 {
				break
			}
			switch {
			case i == int(k.at):
				unit++
				if !wide(w.text, i) {
					unit++
				}
			case b == ' ' && i+1 < len(w.text) && !wide(w.text, i+1):
				unit += wordUnits
			case wide(w.text, i):
				unit++
			}
			if t.nodes[node].outs == 0 {
				continue
			}
			for _, e := range t.ends(node) {
				if k.joined && e.length >= 4 && !e.spaced || ended(w.text, i+1) || e.open {
					m.meet(e.id, k.unit, unit)
				}
			}
		}
	}
}

// wide reports whether a character that is a word of its own begins at i: those
// of unspaced, by their first bytes.
func wide(text []byte, i int) bool {
	b := text[i]
	return b >= 0xE3 && b <= 0xE9 || b == 0xE0 && i+1 < len(text) && text[i+1] >= 0xB8
}

// ended reports whether a word ends before i.
func ended(text []byte, i int) bool {
	if i >= len(text) || text[i] == ' ' {
		return true
	}
	r, n := utf8.DecodeRune(text[i:])
	if n > 1 && unspaced(r) {
		return true
	}
	r, n = utf8.DecodeLastRune(text[:i])
	return n > 1 && unspaced(r)
}

// meet tells all patterns that a class stands at the units from start to end.
func (m *match) meet(class, start, end int32) {
	s := m.scanner
	for _, p := range s.breaks[class] {
		m.broken[p] = start
	}
	for _, u := range s.uses[class] {
		p := &s.patterns[u.pattern]
		if u.step == 0 {
			if m.undone(p, start) {
				continue
			}
		} else {
			before := m.last[p.base+u.step-1]
			if before >= start || start-before-1 > p.steps[u.step].gap || m.broken[u.pattern] > before {
				continue
			}
		}
		if int(u.step) == len(p.steps)-1 {
			m.hits[p.rule] = true
			continue
		}
		m.last[p.base+u.step] = end
	}
	m.seen[class] = end
}

func (m *match) undone(p *pattern, start int32) bool {
	for _, c := range p.unless {
		if at := m.seen[c]; at < start && start-at <= unlessUnits {
			return true
		}
	}
	return false
}
