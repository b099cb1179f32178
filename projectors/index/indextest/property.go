package indextest

import (
	"context"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/projectors/index"
)

// universe holds the names that random operations are made of: few, so that they meet, and such that some are prefixes of
// others.
type universe struct {
	tenants, subjects, ids, tokens, models []string
}

func newUniverse() universe {
	u := universe{
		tenants:  []string{"a", "a-b", "ab", "acme", "acme-corp"},
		subjects: []string{"s", "s1", "s\x00", "s/\xff"},
		tokens:   []string{"x", "y", "xy"},
		models:   []string{"m", "m2"},
	}
	for i := range 8 {
		u.ids = append(u.ids, fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
	}
	return u
}

func optional(tokens []string) *rapid.Generator[string] {
	return rapid.SampledFrom(append([]string{""}, tokens...))
}

func (u universe) origins(t *rapid.T) []index.Origin {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) index.Origin {
		return index.Origin{
			Source: rapid.SampledFrom(u.tokens).Draw(t, "source"), Revision: optional(u.tokens).Draw(t, "revision"),
			Seq: rapid.Uint64Range(0, 60).Draw(t, "origin seq"),
		}
	}), 0, 2).Draw(t, "origins")
}

// current draws what sources admit, seldom anything, so that the other conditions matter.
func (u universe) current(t *rapid.T) map[string]index.Current {
	if rapid.IntRange(0, 3).Draw(t, "current given") > 0 {
		return nil
	}
	return rapid.MapOfN(rapid.SampledFrom(u.tokens), rapid.Custom(func(t *rapid.T) index.Current {
		return index.Current{
			Revision: rapid.SampledFrom(u.tokens).Draw(t, "revision"), After: rapid.Uint64Range(0, 60).Draw(t, "after"),
		}
	}), 0, 2).Draw(t, "current")
}

func smallTime() *rapid.Generator[int64] { return rapid.Int64Range(-5, 5) }

func (u universe) doc(t *rapid.T, seq uint64) index.Doc {
	d := index.Doc{
		Tenant:  rapid.SampledFrom(u.tenants).Draw(t, "tenant"),
		Subject: rapid.SampledFrom(u.subjects).Draw(t, "subject"),
		ID:      rapid.SampledFrom(u.ids).Draw(t, "id"),
		Kind:    index.Kind(rapid.IntRange(1, 3).Draw(t, "kind")),
		Seq:     seq,
		Session: optional(u.tokens).Draw(t, "session"), Category: optional(u.tokens).Draw(t, "category"),
		Scope:      optional(u.tokens).Draw(t, "scope"),
		Entities:   rapid.SliceOfN(rapid.SampledFrom(u.tokens), 0, 3).Draw(t, "entities"),
		Labels:     rapid.SliceOfN(rapid.SampledFrom(u.tokens), 0, 3).Draw(t, "labels"),
		Origins:    u.origins(t),
		Trust:      rapid.Uint8Range(0, 3).Draw(t, "trust"),
		OccurredUS: smallTime().Draw(t, "occurred"), ObservedUS: smallTime().Draw(t, "observed"),
		ValidFromUS: smallTime().Draw(t, "from"),
		ValidToUS:   rapid.SampledFrom([]int64{-2, 0, 3, math.MaxInt64}).Draw(t, "to"),
		ExpiresUS:   rapid.SampledFrom([]int64{0, 0, 0, 2, 4}).Draw(t, "expires"),
	}
	for token := range uint64(6) {
		if tf := rapid.Uint16Range(0, 3).Draw(t, "tf"); tf > 0 {
			d.Terms = append(d.Terms, index.Term{Token: token, TF: tf})
			d.Length += uint32(tf)
		}
	}
	return d
}

// values draws multiples of a power of two, whose products and sums are exact, so that ties are true ties.
func values(t *rapid.T) []float32 {
	v := make([]float32, 5)
	for i, n := range rapid.SliceOfN(rapid.IntRange(-8, 8), len(v), len(v)).Draw(t, "values") {
		v[i] = float32(n) / 16
	}
	if v[0] == 0 {
		v[0] = 0.5
	}
	return v
}

func (u universe) op(t *rapid.T, seq uint64) index.Op {
	tenant := rapid.SampledFrom(u.tenants).Draw(t, "tenant")
	subject := rapid.SampledFrom(u.subjects).Draw(t, "subject")
	id := rapid.SampledFrom(u.ids).Draw(t, "id")
	switch n := rapid.IntRange(0, 99).Draw(t, "op"); {
	case n < 45:
		return u.doc(t, seq)
	case n < 80:
		return index.Vector{
			Tenant: tenant, Subject: subject, ID: id, Seq: seq,
			Model: rapid.SampledFrom(u.models).Draw(t, "model"), Values: values(t),
		}
	case n < 88:
		up := index.Update{Tenant: tenant, Subject: subject, ID: id, Seq: seq}
		up.ValidFromUS = rapid.Ptr(smallTime(), true).Draw(t, "from")
		up.ValidToUS = rapid.Ptr(smallTime(), true).Draw(t, "to")
		up.ExpiresUS = rapid.Ptr(rapid.Int64Range(0, 5), true).Draw(t, "expires")
		up.Trust = rapid.Ptr(rapid.Uint8Range(0, 3), true).Draw(t, "trust")
		if rapid.Bool().Draw(t, "new origins") {
			list := u.origins(t)
			up.Origins = &list
		}
		return up
	case n < 98:
		return index.Removal{Tenant: tenant, Subject: subject, ID: id}
	default:
		return index.SubjectRemoval{Tenant: tenant, Subject: subject}
	}
}

// aimed points an operation at a document that an earlier one put, so that most operations do something.
func aimed(t *rapid.T, op index.Op, log []index.Op) index.Op {
	var puts []index.Doc
	for _, o := range log {
		if d, ok := o.(index.Doc); ok {
			puts = append(puts, d)
		}
	}
	if len(puts) == 0 || rapid.IntRange(0, 9).Draw(t, "miss") == 0 {
		return op
	}
	d := puts[rapid.IntRange(0, len(puts)-1).Draw(t, "aim")]
	switch op := op.(type) {
	case index.Vector:
		op.Tenant, op.Subject, op.ID = d.Tenant, d.Subject, d.ID
		return op
	case index.Update:
		op.Tenant, op.Subject, op.ID = d.Tenant, d.Subject, d.ID
		return op
	case index.Removal:
		op.Tenant, op.Subject, op.ID = d.Tenant, d.Subject, d.ID
		return op
	}
	return op
}

// together lets a put be of the same event, and so of the same Seq, as the put of another document just before it.
func together(t *rapid.T, op index.Op, log []index.Op) index.Op {
	if len(log) == 0 {
		return op
	}
	last, ok := log[len(log)-1].(index.Doc)
	d, put := op.(index.Doc)
	if ok && put && (last.Tenant != d.Tenant || last.ID != d.ID) && rapid.Bool().Draw(t, "same event") {
		d.Seq = last.Seq
		return d
	}
	return op
}

func list(t *rapid.T, tokens []string, name string) []string {
	if rapid.IntRange(0, 7).Draw(t, name+" given") > 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.SampledFrom(tokens), 0, 3).Draw(t, name)
}

func (u universe) query(t *rapid.T) index.Query {
	f := index.Filter{
		Tenant:      rapid.SampledFrom(u.tenants).Draw(t, "tenant"),
		Subjects:    list(t, u.subjects, "subjects"),
		Sessions:    list(t, append(u.tokens, ""), "sessions"),
		Categories:  list(t, append(u.tokens, ""), "categories"),
		Scopes:      list(t, append(u.tokens, ""), "scopes"),
		EntitiesAny: list(t, u.tokens, "entities any"),
		Exclude:     list(t, u.ids, "exclude"),
		NowUS:       smallTime().Draw(t, "now"),
		Current:     u.current(t),
	}
	if rapid.Bool().Draw(t, "where given") {
		f.Where = u.where(t, 4)
	}
	if rapid.IntRange(0, 4).Draw(t, "kinds given") == 0 {
		f.Kinds = []index.Kind{index.Fact, index.Trajectory}
	}
	if rapid.IntRange(0, 4).Draw(t, "times given") == 0 {
		f.OccurredFromUS = rapid.Ptr(smallTime(), true).Draw(t, "occurred from")
		f.OccurredToUS = rapid.Ptr(smallTime(), true).Draw(t, "occurred to")
		f.ValidAtUS = rapid.Ptr(smallTime(), true).Draw(t, "valid at")
	}
	q := index.Query{Filter: f, K: rapid.IntRange(0, 10).Draw(t, "k")}
	q.Terms = rapid.SliceOfN(rapid.Uint64Range(0, 7), 0, 5).Draw(t, "terms")
	if rapid.IntRange(0, 3).Draw(t, "vector given") > 0 {
		q.Vector, q.Model = values(t), rapid.SampledFrom(u.models).Draw(t, "model")
	}
	return q
}

// testProperty delivers a random log in random batches, going back now and then, and compares with the oracle, which sees
// every operation once.
func testProperty(t *testing.T, open func(t *testing.T) Backend) {
	b := open(t)
	u := newUniverse()
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		if err := b.Drop(ctx); err != nil {
			rt.Fatalf("drop: %v", err)
		}
		o := NewOracle()
		var log []index.Op
		seq := uint64(1)
		for range rapid.IntRange(1, 60).Draw(rt, "operations") {
			log = append(log, together(rt, aimed(rt, u.op(rt, seq), log), log))
			seq += uint64(rapid.IntRange(1, 3).Draw(rt, "step"))
		}
		if err := o.Apply(ctx, log); err != nil {
			rt.Fatalf("apply to oracle: %v", err)
		}
		back := rapid.IntRange(0, 3).Draw(rt, "redeliveries")
		for at := 0; at < len(log); {
			n := rapid.IntRange(1, len(log)-at).Draw(rt, "batch")
			if err := b.Apply(ctx, log[at:at+n]); err != nil {
				rt.Fatalf("apply: %v", err)
			}
			if at += n; back > 0 {
				back--
				at = rapid.IntRange(0, at).Draw(rt, "back to")
			}
		}
		for range 4 {
			same(rt, b, o, u.query(rt))
		}
		everything := index.Query{Terms: []uint64{0, 1, 2}, Vector: values(rt), Model: "m", K: 100}
		for _, tenant := range u.tenants {
			everything.Tenant = tenant
			same(rt, b, o, everything)
		}
	})
}
