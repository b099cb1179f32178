package qdrantindex

import (
	"math"

	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// where makes a clause of a condition, or of its opposite if holds is false. Opposites go down to the leaves, so that only
// the changes between and and or make the filter deeper.
func where(w index.Where, holds bool) clause {
	switch w := w.(type) {
	case index.And:
		return joined(w, holds, holds)
	case index.Or:
		return joined(w, holds, !holds)
	case index.Not:
		return where(w.Of, !holds)
	default:
		if !holds {
			return not(leaf(w))
		}
		return leaf(w)
	}
}

// joined joins the clauses of conditions, or of their opposites.
func joined(list []index.Where, holds, and bool) clause {
	clauses := make([]clause, len(list))
	for i, w := range list {
		clauses[i] = where(w, holds)
	}
	if and {
		return both(clauses...)
	}
	return either(clauses...)
}

func leaf(w index.Where) clause {
	switch w := w.(type) {
	case index.AnyOf:
		return anyKeyword(fieldOf(w.Field), w.Tokens)
	case index.Present:
		if w.Field == index.FieldEntities || w.Field == index.FieldLabels {
			return not(is(qdrant.NewIsEmpty(fieldOf(w.Field))))
		}
		return not(is(qdrant.NewMatchKeyword(fieldOf(w.Field), "")))
	case index.Within:
		return within(w)
	}
	return always(false) // validation knows no other
}

func fieldOf(f index.Field) string {
	switch f {
	case index.FieldSession:
		return fieldSession
	case index.FieldCategory:
		return fieldCategory
	case index.FieldScope:
		return fieldScope
	case index.FieldEntities:
		return fieldEntities
	case index.FieldLabels:
		return fieldLabels
	}
	return ""
}

func within(w index.Within) clause {
	if w.From > w.To {
		return always(false)
	}
	switch w.Number {
	case index.NumberKind:
		return smallWithin(fieldKind, w)
	case index.NumberTrust:
		return smallWithin(fieldTrust, w)
	case index.NumberOccurredUS:
		return both(atLeast(fieldOccurred, w.From), not(above(fieldOccurred, w.To)))
	case index.NumberObservedUS:
		return both(atLeast(fieldObserved, w.From), not(above(fieldObserved, w.To)))
	}
	return always(false)
}

// smallWithin is about a number of eight bits.
func smallWithin(name string, w index.Within) clause {
	if w.From > math.MaxUint8 || w.To < 0 {
		return always(false)
	}
	return between(name, max(w.From, 0), min(w.To, math.MaxUint8))
}
