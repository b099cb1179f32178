package indextest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/annals-memory/annals/projectors/index"
)

// Run runs the contract suite. open returns an empty backend, which it closes by t.Cleanup; every test opens its own.
func Run(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(t *testing.T, open func(t *testing.T) Backend)
	}{
		{"Property", testProperty},
		{"Corpus", testCorpus},
		{"FilterFields", testFilterFields},
		{"EmptyAllowList", testEmptyAllowList},
		{"Where", testWhere},
		{"WhereProperty", testWhereProperty},
		{"BadWhere", testBadWhere},
		{"TimeBounds", testTimeBounds},
		{"Tenants", testTenants},
		{"ScopeStatistics", testScopeStatistics},
		{"StatisticsAfterRemoval", testStatisticsAfterRemoval},
		{"FilterBeforeRank", testFilterBeforeRank},
		{"Current", testCurrent},
		{"Ties", testTies},
		{"Versions", testVersions},
		{"LateVector", testLateVector},
		{"Models", testModels},
		{"BadOperations", testBadOperations},
		{"BadQueries", testBadQueries},
		{"Sizes", testSizes},
		{"RemoveSubject", testRemoveSubject},
		{"Update", testUpdate},
		{"Drop", testDrop},
		{"Cancelled", testCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open)
		})
	}
}

// pair is a backend and the oracle that sees the same operations.
type pair struct {
	Backend

	oracle *Oracle
}

func newPair(t *testing.T, open func(t *testing.T) Backend) pair {
	t.Helper()
	return pair{Backend: open(t), oracle: NewOracle()}
}

func (p pair) apply(t *testing.T, ops ...index.Op) {
	t.Helper()
	if err := p.Apply(t.Context(), ops); err != nil {
		t.Fatalf("apply to backend: %v", err)
	}
	if err := p.oracle.Apply(t.Context(), ops); err != nil {
		t.Fatalf("apply to oracle: %v", err)
	}
}

func (p pair) same(t *testing.T, q index.Query) index.Candidates {
	t.Helper()
	return same(t, p.Backend, p.oracle, q)
}

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// note is a small episode of tenant acme and subject s with the given terms once each.
func note(n int, terms ...uint64) index.Doc {
	d := index.Doc{
		Tenant: "acme", Subject: "s", ID: id(n), Kind: index.Episode, Seq: uint64(n),
		ValidToUS: math.MaxInt64, Length: uint32(len(terms)),
	}
	for _, term := range terms {
		d.Terms = append(d.Terms, index.Term{Token: term, TF: 1})
	}
	return d
}

// vectorOf is a vector for d of the model m.
func vectorOf(d index.Doc, values ...float32) index.Vector {
	return index.Vector{Tenant: d.Tenant, Subject: d.Subject, ID: d.ID, Model: "m", Seq: d.Seq + 1, Values: values}
}

// unit returns a random vector of length one near to a, or anywhere when a is nil.
func unit(r *rand.Rand, dim int, near []float32) []float32 {
	v := make([]float32, dim)
	var sum float64
	for i := range v {
		x := r.NormFloat64()
		if near != nil {
			x = float64(near[i]) + 0.02*x
		}
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

const corpusDim = 67 // no multiple of any vector width

// corpus makes n documents in tenant acme with subjects s0 to s3 and their vectors, clustered so that many are close.
func corpus(r *rand.Rand, n int) []index.Op {
	var ops []index.Op
	centre := unit(r, corpusDim, nil)
	token := func(p string, k int) string { return fmt.Sprintf("%s%d", p, r.IntN(k)) }
	for i := range n {
		if i%40 == 0 {
			centre = unit(r, corpusDim, nil)
		}
		d := index.Doc{
			Tenant: "acme", Subject: token("s", 4), ID: id(i), Kind: index.Kind(1 + r.IntN(3)), Seq: uint64(10 + i/3),
			Session: token("n", 5), Category: token("c", 5), Scope: token("o", 3),
			Entities: []string{token("e", 6), token("e", 6)}, Labels: []string{token("l", 4), token("l", 4)},
			Trust: uint8(r.IntN(5)), OccurredUS: r.Int64N(1000), ObservedUS: r.Int64N(1000),
			ValidFromUS: r.Int64N(500), ValidToUS: 500 + r.Int64N(500), ExpiresUS: r.Int64N(3) * 400,
		}
		if i%5 > 0 {
			d.Origins = []index.Origin{{Source: token("d", 3), Revision: token("r", 2), Seq: d.Seq}}
		}
		for term := range uint64(20) {
			if tf := r.IntN(4); tf > 0 && r.IntN(int(term)+1) == 0 {
				d.Terms = append(d.Terms, index.Term{Token: term, TF: uint16(tf)})
				d.Length += uint32(tf)
			}
		}
		ops = append(ops, d)
		if i%10 != 9 {
			ops = append(ops, vectorOf(d, unit(r, corpusDim, centre)...))
		}
	}
	return ops
}

func loadCorpus(t *testing.T, open func(t *testing.T) Backend, n int) (pair, *rand.Rand) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	p := newPair(t, open)
	ops := corpus(r, n)
	for len(ops) > 0 {
		cut := min(len(ops), 300)
		p.apply(t, ops[:cut]...)
		ops = ops[cut:]
	}
	return p, r
}

// testCorpus compares larger lists, with near duplicates whose int8 forms cannot be told apart.
func testCorpus(t *testing.T, open func(t *testing.T) Backend) {
	p, r := loadCorpus(t, open, 1500)
	for range 20 {
		q := index.Query{
			Filter: index.Filter{Tenant: "acme"}, K: 1 + r.IntN(120), Model: "m", Vector: unit(r, corpusDim, nil),
			Terms: []uint64{r.Uint64N(20), r.Uint64N(20), 3},
		}
		if r.IntN(2) == 0 {
			q.Subjects = []string{"s3", "s1", "s1", "nobody"}
		}
		p.same(t, q)
	}
	// A query that is itself a stored vector finds it first: every vector, however many are like it.
	for k, m := range p.oracle.docs {
		v, ok := m.vectors["m"]
		if !ok || r.IntN(20) != 0 {
			continue
		}
		c := p.same(t, index.Query{Filter: index.Filter{Tenant: "acme"}, K: 5, Model: "m", Vector: v.Values})
		if c.Dense[0].ID != k.id {
			t.Fatalf("%s is not its own nearest", k.id)
		}
	}
}

func testDrop(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	d := note(1, 1)
	p.apply(t, d, vectorOf(d, 1, 0))
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, Vector: []float32{1, 0}, Model: "m", K: 3}
	if c := p.same(t, q); len(c.Dense) != 1 || len(c.Lexical) != 1 {
		t.Fatalf("document is not found before the drop: %+v", c)
	}
	for _, b := range []Backend{p.Backend, p.oracle} {
		if err := b.Drop(t.Context()); err != nil {
			t.Fatalf("drop: %v", err)
		}
	}
	if c := p.same(t, q); c.Eligible != 0 {
		t.Fatalf("documents are left after the drop: %+v", c)
	}
	// Not even the dimension of a model is remembered.
	p.apply(t, d, vectorOf(d, 1, 0, 0))
}

func testCancelled(t *testing.T, open func(t *testing.T) Backend) {
	p, _ := loadCorpus(t, open, 10)
	ctx, cancel := context.WithCancel(t.Context())
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, K: 3}
	if _, err := p.Candidates(ctx, q); err != nil {
		t.Fatalf("candidates before the cancellation: %v", err)
	}
	cancel()
	if _, err := p.Candidates(ctx, q); err == nil {
		t.Fatal("candidates after the cancellation were answered")
	}
	if _, err := p.Count(ctx, q.Filter); err == nil {
		t.Fatal("count after the cancellation was answered")
	}
}
