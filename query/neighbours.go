package query

import (
	"cmp"
	"slices"
)

// neighbourShare is the share of its own relevance that a turn lends to the
// nearest turns before and after it. DESIGN.md says where it comes from.
const neighbourShare = 0.35

// lend lets the turns of a session lend each other relevance: an answer often
// has none of the words of a question that the turn before it, or after it, has.
// Only turns that were found themselves lend and borrow, each to and from the
// nearest found of its session on either side.
//
// Nothing of a turn is stored with another, neither words nor vector. So one that
// is forgotten, or that the filter leaves out, lends nothing.
func lend(list []ranked) {
	turns := make([]*ranked, 0, len(list))
	for i := range list {
		if list[i].session != "" {
			turns = append(turns, &list[i])
		}
	}
	slices.SortFunc(turns, func(a, b *ranked) int {
		return cmp.Or(
			cmp.Compare(a.session, b.session), a.observed.Compare(b.observed),
			cmp.Compare(a.Position, b.Position), cmp.Compare(a.ID, b.ID),
		)
	})
	// What is lent on was one's own before.
	var before float64
	for i, turn := range turns {
		own, short := turn.components.Relevance, 1.0
		if i > 0 && turns[i-1].session == turn.session {
			short *= 1 - neighbourShare*before
		}
		if i+1 < len(turns) && turns[i+1].session == turn.session {
			short *= 1 - neighbourShare*turns[i+1].components.Relevance
		}
		if short < 1 {
			lent := (1 - own) * (1 - short)
			turn.components.Relevance, turn.components.Context = clamp(own+lent), &lent
		}
		before = own
	}
}
