package indextest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/projectors/index"
)

// where draws a condition of up to the given depth. Leaves are about values that documents of the universe have, so that
// most of them hold for some documents and not for all.
func (u universe) where(t *rapid.T, depth int) index.Where {
	n := rapid.IntRange(0, 9).Draw(t, "node")
	if depth <= 1 {
		n %= 6
	}
	parts := func() []index.Where {
		list := make([]index.Where, rapid.IntRange(0, 3).Draw(t, "parts"))
		for i := range list {
			list[i] = u.where(t, depth-1)
		}
		return list
	}
	switch {
	case n < 3:
		return index.AnyOf{
			Field:  field().Draw(t, "field"),
			Tokens: rapid.SliceOfN(optional(append(u.tokens, "nobody")), 0, 3).Draw(t, "tokens"),
		}
	case n < 4:
		return index.Present{Field: field().Draw(t, "field")}
	case n < 6:
		bound := rapid.OneOf(smallTime(), rapid.SampledFrom([]int64{math.MinInt64, math.MaxInt64}))
		return index.Within{
			Number: index.Number(rapid.IntRange(int(index.NumberKind), int(index.NumberObservedUS)).Draw(t, "number")),
			From:   bound.Draw(t, "from"), To: bound.Draw(t, "to"),
		}
	case n < 7:
		return index.Not{Of: u.where(t, depth-1)}
	case n < 8:
		return index.And(parts())
	default:
		return index.Or(parts())
	}
}

func field() *rapid.Generator[index.Field] {
	return rapid.SampledFrom([]index.Field{
		index.FieldSession, index.FieldCategory, index.FieldScope, index.FieldEntities, index.FieldLabels,
	})
}

// testWhereProperty asks one set of documents for what passes random conditions.
func testWhereProperty(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	u := newUniverse()
	docs := rapid.Custom(func(rt *rapid.T) index.Doc { return u.doc(rt, 1) })
	ops := make([]index.Op, 200)
	for i := range ops {
		d := docs.Example(i)
		d.Tenant, d.ID, d.Seq, d.ExpiresUS = "acme", id(i), uint64(i+1), 0
		ops[i] = d
	}
	p.apply(t, ops...)
	some := 0
	rapid.Check(t, func(rt *rapid.T) {
		q := index.Query{Filter: index.Filter{Tenant: "acme", Where: u.where(rt, 6)}, Terms: []uint64{0, 1, 2}, K: 20}
		if rapid.Bool().Draw(rt, "subject given") {
			q.Subjects = u.subjects[:2]
		}
		if n := same(rt, p.Backend, p.oracle, q).Eligible; n > 0 && n < len(ops) {
			some++
		}
	})
	if some == 0 {
		t.Error("every condition held for all documents or for none, so the test shows nothing")
	}
}

// testWhere is each condition by itself, on documents that differ in what it is about.
func testWhere(t *testing.T, open func(t *testing.T) Backend) {
	const at = int64(1)<<53 + 1 // beyond what a float64 can count
	p := newPair(t, open)
	full, bare := note(1, 1), note(2, 1)
	full.Kind, full.Trust, full.OccurredUS, full.ObservedUS = index.Fact, 3, at, at
	full.Session, full.Category, full.Scope = "s1", "c1", "o1"
	full.Entities, full.Labels = []string{"e1", "e2"}, []string{"l1", "l2"}
	bare.OccurredUS, bare.ObservedUS = math.MinInt64, math.MaxInt64
	p.apply(t, full, bare)
	const onlyFull, onlyBare = 1, 2
	anyOf := func(f index.Field, tokens ...string) index.AnyOf { return index.AnyOf{Field: f, Tokens: tokens} }
	within := func(n index.Number, from, to int64) index.Within { return index.Within{Number: n, From: from, To: to} }
	for i, c := range []struct {
		where index.Where
		want  int // the number of the only document that passes, 0 for none and 3 for both
	}{
		{index.And{}, onlyFull | onlyBare},
		{index.Or{}, 0},
		{index.Not{Of: index.Or{}}, onlyFull | onlyBare},
		{anyOf(index.FieldSession, "s1", "x"), onlyFull},
		{anyOf(index.FieldSession, ""), onlyBare},
		{anyOf(index.FieldCategory, "c1", ""), onlyFull | onlyBare},
		{anyOf(index.FieldCategory, "s1"), 0},
		{anyOf(index.FieldScope, "o1"), onlyFull},
		{anyOf(index.FieldScope), 0},
		{anyOf(index.FieldEntities, "x", "e2"), onlyFull},
		{anyOf(index.FieldEntities, ""), 0},
		{anyOf(index.FieldEntities, "l1"), 0},
		{anyOf(index.FieldLabels, "l1", "l2"), onlyFull},
		{index.AllOf(index.FieldLabels, "l1", "l2", "l1"), onlyFull},
		{index.AllOf(index.FieldLabels, "l1", "x"), 0},
		{index.AllOf(index.FieldEntities, "e2", "e1"), onlyFull},
		{index.Not{Of: anyOf(index.FieldLabels, "l1")}, onlyBare},
		{index.Not{Of: anyOf(index.FieldLabels)}, onlyFull | onlyBare},
		{index.Present{Field: index.FieldSession}, onlyFull},
		{index.Present{Field: index.FieldCategory}, onlyFull},
		{index.Present{Field: index.FieldScope}, onlyFull},
		{index.Present{Field: index.FieldEntities}, onlyFull},
		{index.Present{Field: index.FieldLabels}, onlyFull},
		{index.Not{Of: index.Present{Field: index.FieldLabels}}, onlyBare},
		{within(index.NumberKind, int64(index.Fact), int64(index.Fact)), onlyFull},
		{index.AtLeast(index.NumberTrust, 3), onlyFull},
		{index.AtLeast(index.NumberTrust, 4), 0},
		{within(index.NumberTrust, -1, 2), onlyBare},
		{within(index.NumberTrust, 3, 2), 0},
		{within(index.NumberOccurredUS, at, at), onlyFull},
		{within(index.NumberOccurredUS, at+1, math.MaxInt64), 0},
		{within(index.NumberOccurredUS, math.MinInt64, at-1), onlyBare},
		{within(index.NumberObservedUS, math.MaxInt64, math.MaxInt64), onlyBare},
		{within(index.NumberObservedUS, math.MinInt64, math.MaxInt64), onlyFull | onlyBare},
		{index.Or{anyOf(index.FieldSession, "s1"), within(index.NumberTrust, 0, 0)}, onlyFull | onlyBare},
		{index.And{anyOf(index.FieldSession, "s1"), within(index.NumberTrust, 0, 0)}, 0},
	} {
		q := index.Query{Filter: index.Filter{Tenant: "acme", Where: c.where}, Terms: []uint64{1}, K: 2}
		got := 0
		for _, h := range p.same(t, q).Lexical {
			got |= int(h.Seq)
		}
		if got != c.want {
			t.Errorf("condition %d, %+v: the documents %b pass, want %b", i, c.where, got, c.want)
		}
	}
}

func testBadWhere(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	p.apply(t, note(1, 1))
	nested := func(depth int) index.Where {
		w := index.Where(index.And{})
		for range depth - 1 {
			w = index.Not{Of: w}
		}
		return w
	}
	token := strings.Repeat("x", index.MaxToken)
	labels := func(tokens ...string) index.Where { return index.AnyOf{Field: index.FieldLabels, Tokens: tokens} }
	wide := make(index.Or, index.MaxWhereNodes-1)
	for i := range wide {
		wide[i] = labels(fmt.Sprint(i))
	}
	for name, c := range map[string]struct {
		good, bad index.Where
		want      error
	}{
		"token":         {labels(token), labels(token + "x"), index.ErrToken},
		"field":         {labels("x"), index.AnyOf{Field: index.FieldLabels + 1}, index.ErrQuery},
		"no field":      {index.Present{Field: index.FieldScope}, index.Present{}, index.ErrQuery},
		"number":        {index.Within{Number: index.NumberObservedUS}, index.Within{Number: index.NumberObservedUS + 1}, index.ErrQuery},
		"no number":     {index.Within{Number: index.NumberKind}, index.Within{}, index.ErrQuery},
		"nil in not":    {index.Not{Of: index.And{}}, index.Not{}, index.ErrQuery},
		"nil in and":    {index.And{index.And{}}, index.And{nil}, index.ErrQuery},
		"nil in or":     {index.Or{index.And{}}, index.Or{index.And{}, nil}, index.ErrQuery},
		"depth":         {nested(index.MaxWhereDepth), nested(index.MaxWhereDepth + 1), index.ErrQuery},
		"number of all": {wide, append(slices.Clip(wide), labels("x")), index.ErrQuery},
	} {
		for _, b := range []Backend{p.Backend, p.oracle} {
			q := index.Query{Filter: index.Filter{Tenant: "acme", Where: c.good}, Terms: []uint64{1}, K: 1}
			if _, err := b.Candidates(context.Background(), q); err != nil {
				t.Errorf("%s: the good condition is refused: %v", name, err)
			}
			q.Where = c.bad
			if _, err := b.Candidates(context.Background(), q); !errors.Is(err, c.want) {
				t.Errorf("%s: candidates with the bad condition: %v", name, err)
			}
			if _, err := b.Count(context.Background(), q.Filter); !errors.Is(err, c.want) {
				t.Errorf("%s: count with the bad condition: %v", name, err)
			}
		}
	}
}
