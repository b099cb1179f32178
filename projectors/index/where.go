package index

import (
	"fmt"
	"math"
)

const (
	// MaxWhereDepth is how deep the conditions of a [Where] may be nested: what every backend can send to where it searches.
	MaxWhereDepth = 32
	// MaxWhereNodes is the greatest number of conditions in a [Where], those that hold others included.
	MaxWhereNodes = 8192
)

// Where is a condition on a document: an [And], an [Or] or a [Not] of conditions, an [AnyOf], a [Present] or a [Within].
// Nil in [Filter.Where] is no condition; nil within another condition is [ErrQuery].
type Where interface{ where() }

func (And) where()     {}
func (Or) where()      {}
func (Not) where()     {}
func (AnyOf) where()   {}
func (Present) where() {}
func (Within) where()  {}

// And holds if all of its conditions do; an empty one holds for every document.
type And []Where

// Or holds if any of its conditions does; an empty one holds for no document.
type Or []Where

// Not holds if its condition does not.
type Not struct{ Of Where }

// AnyOf holds if one of the tokens is the document's in the field, or is in its list there. The empty token is the one of a
// document that has none in a field of one token; no list has it. Without tokens it holds for no document.
type AnyOf struct {
	Field  Field
	Tokens []string
}

// Present holds if the document has a token in the field.
type Present struct{ Field Field }

// Within holds if the document's number is in From to To, both included. It holds for no document if From is above To.
type Within struct {
	Number   Number
	From, To int64
}

// Field is a field of a document that holds tokens.
type Field uint8

// The fields that conditions are about. The first three hold one token or none, the others lists.
const (
	FieldSession Field = iota + 1
	FieldCategory
	FieldScope
	FieldEntities
	FieldLabels
)

// Valid reports whether f is one of the fields.
func (f Field) Valid() bool { return f >= FieldSession && f <= FieldLabels }

// Number is a field of a document that holds a number.
type Number uint8

// The numbers that conditions are about: [Doc.Kind] and [Doc.Trust] as they are, and times in unix microseconds. They take
// all of the values of an int64, which a float64 does not.
const (
	NumberKind Number = iota + 1
	NumberTrust
	NumberOccurredUS
	NumberObservedUS
)

// Valid reports whether n is one of the numbers.
func (n Number) Valid() bool { return n >= NumberKind && n <= NumberObservedUS }

// AtLeast is the condition that a number is not below from.
func AtLeast(n Number, from int64) Within { return Within{Number: n, From: from, To: math.MaxInt64} }

// AllOf returns the condition that the document has every one of the tokens in the field; nil for no tokens.
func AllOf(f Field, tokens ...string) Where {
	var all And
	for _, t := range tokens {
		all = append(all, AnyOf{Field: f, Tokens: []string{t}})
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// checkWhere reports what is out of range as [ErrQuery] or [ErrToken].
func checkWhere(w Where) error {
	nodes := MaxWhereNodes
	return checkNode(w, MaxWhereDepth, &nodes)
}

func checkNode(w Where, depth int, nodes *int) error {
	if *nodes--; depth == 0 || *nodes < 0 {
		return fmt.Errorf("check size of condition: %w", ErrQuery)
	}
	var ok bool
	switch w := w.(type) {
	case And:
		return checkNodes(w, depth, nodes)
	case Or:
		return checkNodes(w, depth, nodes)
	case Not:
		return checkNode(w.Of, depth-1, nodes)
	case AnyOf:
		if err := checkTokens(w.Tokens, true); err != nil {
			return err
		}
		ok = w.Field.Valid()
	case Present:
		ok = w.Field.Valid()
	case Within:
		ok = w.Number.Valid()
	}
	if !ok {
		return fmt.Errorf("check condition: %w", ErrQuery)
	}
	return nil
}

func checkNodes(list []Where, depth int, nodes *int) error {
	for _, w := range list {
		if err := checkNode(w, depth-1, nodes); err != nil {
			return err
		}
	}
	return nil
}
