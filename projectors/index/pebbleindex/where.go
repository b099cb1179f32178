package pebbleindex

import (
	"math"
	"slices"

	"github.com/annals-memory/annals/projectors/index"
)

// where is a condition made ready to judge many rows. Each token of a row is looked up once, however many conditions ask
// for it: what the lookups find is noted by condition, and then the tree is worked out over the notes.
type where struct {
	root node
	// wanted are the conditions that a token is one of, by field.
	wanted [index.FieldLabels + 1]map[string][]int
	// present are the conditions that ask whether there is a token, by field.
	present [index.FieldLabels + 1][]int
	// notes are what holds for the row at hand, by condition.
	notes []bool
	// tokens says that some condition looks at the tail.
	tokens bool
}

// node is one condition: an operator over others, a note, or a number with its bounds.
type node struct {
	sort     byte
	parts    []node
	note     int
	number   index.Number
	from, to int64
}

const (
	sortAnd byte = iota
	sortOr
	sortNot
	sortNote
	sortWithin
)

// newWhere takes a condition that was validated; nil is none.
func newWhere(w index.Where) *where {
	if w == nil {
		return nil
	}
	out := &where{}
	out.root = out.add(w)
	out.tokens = len(out.notes) > 0
	return out
}

func (w *where) add(c index.Where) node {
	switch c := c.(type) {
	case index.And:
		return node{sort: sortAnd, parts: w.addAll(c)}
	case index.Or:
		return node{sort: sortOr, parts: w.addAll(c)}
	case index.Not:
		return node{sort: sortNot, parts: []node{w.add(c.Of)}}
	case index.AnyOf:
		n := w.newNote()
		if w.wanted[c.Field] == nil {
			w.wanted[c.Field] = make(map[string][]int)
		}
		for _, t := range c.Tokens {
			if list := w.wanted[c.Field][t]; !slices.Contains(list, n.note) {
				w.wanted[c.Field][t] = append(list, n.note)
			}
		}
		return n
	case index.Present:
		n := w.newNote()
		w.present[c.Field] = append(w.present[c.Field], n.note)
		return n
	case index.Within:
		return node{sort: sortWithin, number: c.Number, from: c.From, to: c.To}
	}
	return node{sort: sortOr} // validated: there is no other
}

func (w *where) addAll(list []index.Where) []node {
	parts := make([]node, len(list))
	for i, c := range list {
		parts[i] = w.add(c)
	}
	return parts
}

func (w *where) newNote() node {
	w.notes = append(w.notes, false)
	return node{sort: sortNote, note: len(w.notes) - 1}
}

// see notes what a token in a field makes true.
func (w *where) see(f index.Field, token []byte) {
	for _, n := range w.wanted[f][string(token)] {
		w.notes[n] = true
	}
	if len(token) > 0 {
		for _, n := range w.present[f] {
			w.notes[n] = true
		}
	}
}

// list reads a list of tokens.
func (w *where) list(f index.Field, r *rowReader) {
	skip := len(w.wanted[f]) == 0 && len(w.present[f]) == 0
	for range r.number(2) {
		if token := r.token(); !skip {
			w.see(f, token)
		}
	}
}

// begin forgets the row before.
func (w *where) begin() { clear(w.notes) }

// holds reports whether the condition holds for a row whose tokens were seen.
func (w *where) holds(v *forwardView, rank int) bool { return w.eval(&w.root, v, rank) }

func (w *where) eval(n *node, v *forwardView, rank int) bool {
	switch n.sort {
	case sortAnd:
		for i := range n.parts {
			if !w.eval(&n.parts[i], v, rank) {
				return false
			}
		}
		return true
	case sortOr:
		for i := range n.parts {
			if w.eval(&n.parts[i], v, rank) {
				return true
			}
		}
		return false
	case sortNot:
		return !w.eval(&n.parts[0], v, rank)
	case sortNote:
		return w.notes[n.note]
	}
	x := v.number(n.number, rank)
	return n.from <= x && x <= n.to
}

// number returns the number of a row.
func (v *forwardView) number(n index.Number, rank int) int64 {
	switch n {
	case index.NumberKind:
		return int64(v.kind[rank])
	case index.NumberTrust:
		return int64(v.trust[rank])
	case index.NumberOccurredUS:
		return i64(v.occurred, rank)
	case index.NumberObservedUS:
		return i64(v.observed, rank)
	}
	return math.MinInt64 // validated: there is no other
}
