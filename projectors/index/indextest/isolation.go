package indextest

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/projectors/index"
)

// testTenants uses tenants whose names are prefixes of one another and the same subject and id in all of them.
func testTenants(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	tenants := []string{"a", "a-b", "ab", "acme", "acme-corp"}
	for i, tenant := range tenants {
		d := note(i+1, 1, uint64(10+i))
		d.Tenant, d.ID = tenant, id(7)
		p.apply(t, d, vectorOf(d, 0.6, 0.8))
	}
	query := func(tenant string) index.Query {
		return index.Query{
			Filter: index.Filter{Tenant: tenant}, Terms: []uint64{1, 10, 11, 12, 13, 14},
			Vector: []float32{0.6, 0.8}, Model: "m", K: 10,
		}
	}
	for i, tenant := range tenants {
		c := p.same(t, query(tenant))
		if len(c.Dense) != 1 || len(c.Lexical) != 1 || c.Dense[0].Seq != uint64(i+1) {
			t.Fatalf("tenant %q sees %+v", tenant, c)
		}
	}
	// Removal stays in its tenant.
	p.apply(t, index.Removal{Tenant: "a", Subject: "s", ID: id(7)}, index.SubjectRemoval{Tenant: "acme", Subject: "s"})
	for _, tenant := range tenants {
		want := 1
		if tenant == "a" || tenant == "acme" {
			want = 0
		}
		if c := p.same(t, query(tenant)); c.Eligible != want {
			t.Fatalf("tenant %q has %d documents, want %d", tenant, c.Eligible, want)
		}
	}
	// A removal that names another subject does nothing.
	p.apply(t, index.Removal{Tenant: "ab", Subject: "t", ID: id(7)})
	if c := p.same(t, query("ab")); c.Eligible != 1 {
		t.Fatal("a removal for another subject removed the document")
	}
}

// testScopeStatistics demands equal bits whatever other tenants and other subjects hold.
func testScopeStatistics(t *testing.T, open func(t *testing.T) Backend) {
	p, r := loadCorpus(t, open, 200)
	q := index.Query{
		Filter: index.Filter{Tenant: "acme", Subjects: []string{"s1", "s2"}}, Terms: []uint64{0, 1, 2, 7}, K: 1000,
		Vector: unit(r, corpusDim, nil), Model: "m",
	}
	before := p.same(t, q)
	var others []index.Op
	for i := range 1000 {
		d := note(5000+i, 0, 1, 2)
		if i%2 == 0 {
			d.Tenant = []string{"acme-corp", "acm", "b"}[i%3]
		} else {
			d.Subject = []string{"s", "s11", "s0", "s3"}[i%4]
		}
		others = append(others, d)
	}
	p.apply(t, others...)
	if diff := cmp.Diff(before, p.same(t, q)); diff != "" {
		t.Fatalf("documents outside of the scope move the answer (-before +after):\n%s", diff)
	}
	d := note(9000, 0)
	d.Subject = "s1"
	p.apply(t, d)
	if diff := cmp.Diff(before.Lexical, p.same(t, q).Lexical); diff == "" {
		t.Fatal("a document inside of the scope moves nothing, so the test shows nothing")
	}
}

// testStatisticsAfterRemoval demands that removed documents no longer count.
func testStatisticsAfterRemoval(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	p.apply(t, note(1, 1), note(2, 1), note(3, 1))
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, K: 3}
	score := func(want float64) {
		t.Helper()
		c := p.same(t, q)
		if got := c.Lexical[0].Score; math.Abs(got-want) > 1e-12 {
			t.Fatalf("score is %v, want %v", got, want)
		}
	}
	// With tf = 1 and the average length the saturation is one, so the score is ln(1 + (N-df+½)/(df+½)).
	score(math.Log(1 + 0.5/3.5))
	p.apply(t, index.Removal{Tenant: "acme", Subject: "s", ID: id(1)}, index.Removal{Tenant: "acme", Subject: "s", ID: id(2)})
	score(math.Log(2 / 1.5))
}

// testTies demands the order by Seq descending and then by id, also where a list is cut.
func testTies(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	for n := range 30 {
		d := note(n+1, 1)
		d.Seq = uint64(1 + n%3)
		p.apply(t, d, vectorOf(d, 1, 0))
	}
	for k := range 31 {
		c := p.same(t, index.Query{
			Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, Vector: []float32{1, 0}, Model: "m", K: k,
		})
		if diff := cmp.Diff(c.Dense, c.Lexical, cmp.FilterPath(func(p cmp.Path) bool {
			return p.Last().String() == ".Score" || p.Last().String() == ".Other"
		}, cmp.Ignore())); diff != "" {
			t.Fatalf("both channels tie, but their order differs at k = %d:\n%s", k, diff)
		}
	}
}
