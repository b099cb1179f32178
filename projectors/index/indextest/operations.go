package indextest

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/annals-memory/annals/projectors/index"
)

func testVersions(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	at := func(seq uint64, terms ...uint64) index.Doc {
		d := note(1, terms...)
		d.Seq = seq
		return d
	}
	q := func(terms ...uint64) index.Query {
		return index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: terms, K: 5}
	}
	found := func(term uint64, want int) {
		t.Helper()
		if c := p.same(t, q(term)); len(c.Lexical) != want {
			t.Fatalf("term %d finds %d documents, want %d", term, len(c.Lexical), want)
		}
	}
	// The newest wins in one batch, whatever its place.
	p.apply(t, at(5, 1), at(9, 2), at(7, 3))
	found(1, 0)
	found(2, 1)
	found(3, 0)
	// And across batches.
	p.apply(t, at(8, 1))
	found(1, 0)
	p.apply(t, at(12, 4, 2))
	found(4, 1)
	p.apply(t, at(13, 4))
	found(2, 0)
	// Another subject takes the document with it.
	d := at(20, 5)
	d.Subject = "other"
	p.apply(t, d)
	found(5, 1)
	found(4, 0)
	c := p.same(t, index.Query{Filter: index.Filter{Tenant: "acme", Subjects: []string{"s"}}})
	if c.Eligible != 0 {
		t.Fatal("the document is still with its old subject")
	}
	// Removed and put again in one batch.
	p.apply(t, index.Removal{Tenant: "acme", Subject: "other", ID: id(1)}, d)
	found(5, 1)
}

func testLateVector(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	d := note(1, 1)
	v := vectorOf(d, 1, 0)
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Vector: []float32{1, 0}, Model: "m", K: 5}
	want := func(eligible, dense int) {
		t.Helper()
		if c := p.same(t, q); c.Eligible != eligible || len(c.Dense) != dense || c.VectorsMissing != eligible-dense {
			t.Fatalf("answer is %+v, want %d eligible and %d found", c, eligible, dense)
		}
	}
	p.apply(t, v) // before the document
	want(0, 0)
	p.apply(t, d)
	want(1, 0)
	p.apply(t, v)
	want(1, 1)
	p.apply(t, index.Removal{Tenant: "acme", Subject: "s", ID: d.ID})
	want(0, 0)
	p.apply(t, v) // after the removal
	want(0, 0)
	p.apply(t, d, v, index.Removal{Tenant: "acme", Subject: "s", ID: d.ID}, v) // all in one batch
	want(0, 0)
	// A newer document drops the vector, and the old vector does not come back.
	p.apply(t, d, v)
	want(1, 1)
	d.Seq = 100
	p.apply(t, d, v)
	want(1, 0)
	p.apply(t, vectorOf(d, 0, 1))
	want(1, 1)
	// A vector of another subject is not the document's.
	p.apply(t, index.Removal{Tenant: "acme", Subject: "s", ID: d.ID}, d)
	stranger := vectorOf(d, 0, 1)
	stranger.Subject = "t"
	p.apply(t, stranger)
	want(1, 0)
	// An older vector does not replace a newer one.
	newer, older := vectorOf(d, 0, 1), vectorOf(d, 1, 0)
	newer.Seq += 5
	p.apply(t, newer, older)
	if c := p.same(t, q); len(c.Dense) != 1 || c.Dense[0].Score != 0 {
		t.Fatalf("the older vector replaced the newer: %+v", c)
	}
}

func testModels(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	a, b := note(1, 1), note(2, 1)
	other := vectorOf(a, 0, 0, 1)
	other.Model = "m2"
	p.apply(t, a, b, vectorOf(a, 1, 0), vectorOf(b, 0, 1), other)
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, K: 5}
	for _, c := range []struct {
		model          string
		vector         []float32
		dense, missing int
	}{
		{"m", []float32{1, 0}, 2, 0},
		{"m2", []float32{0, 0, 1}, 1, 1},
		{"m3", []float32{0, 0, 0, 1}, 0, 2},
	} {
		q.Model, q.Vector = c.model, c.vector
		if got := p.same(t, q); len(got.Dense) != c.dense || got.VectorsMissing != c.missing {
			t.Errorf("model %s: %+v", c.model, got)
		}
	}
	// A model's dimension is fixed, in each tenant for itself.
	bad := vectorOf(a, 1, 0, 0)
	bad.Seq += 10
	if err := p.Apply(t.Context(), []index.Op{bad}); !errors.Is(err, index.ErrVectorDim) {
		t.Errorf("a vector of another dimension gives %v", err)
	}
	q.Model, q.Vector = "m", []float32{1, 0, 0}
	if _, err := p.Candidates(t.Context(), q); !errors.Is(err, index.ErrVectorDim) {
		t.Errorf("a query of another dimension gives %v", err)
	}
	foreign := note(1, 1)
	foreign.Tenant = "b"
	p.apply(t, foreign, vectorOf(foreign, 1, 0, 0))
}

func testBadOperations(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	d := note(1, 1)
	p.apply(t, d)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	doc := func(change func(d *index.Doc)) index.Op {
		d := note(2, 1)
		change(&d)
		return d
	}
	long := strings.Repeat("x", index.MaxToken+1)
	for name, c := range map[string]struct {
		op   index.Op
		want error
	}{
		"NaN":            {vectorOf(d, nan, 1), index.ErrVectorValue},
		"infinity":       {vectorOf(d, 1, inf), index.ErrVectorValue},
		"zero vector":    {vectorOf(d, 0, 0), index.ErrVectorNorm},
		"empty vector":   {vectorOf(d), index.ErrVectorDim},
		"long vector":    {vectorOf(d, make([]float32, index.MaxDim+1)...), index.ErrVectorDim},
		"no model":       {index.Vector{Tenant: "acme", Subject: "s", ID: "i", Values: []float32{1}}, index.ErrToken},
		"no tenant":      {doc(func(d *index.Doc) { d.Tenant = "" }), index.ErrTenant},
		"tenant":         {doc(func(d *index.Doc) { d.Tenant = "Acme" }), index.ErrTenant},
		"no subject":     {doc(func(d *index.Doc) { d.Subject = "" }), index.ErrToken},
		"no id":          {doc(func(d *index.Doc) { d.ID = "" }), index.ErrToken},
		"long token":     {doc(func(d *index.Doc) { d.Session = long }), index.ErrToken},
		"long label":     {doc(func(d *index.Doc) { d.Labels = []string{"x", long} }), index.ErrToken},
		"kind":           {doc(func(d *index.Doc) { d.Kind = 9 }), index.ErrDocument},
		"term frequency": {doc(func(d *index.Doc) { d.Terms[0].TF = 0 }), index.ErrDocument},
		"repeated term":  {doc(func(d *index.Doc) { d.Terms = append(d.Terms, d.Terms[0]) }), index.ErrDocument},
		"update":         {index.Update{Tenant: "a_b", Subject: "s", ID: "i"}, index.ErrTenant},
		"removal":        {index.Removal{Tenant: "acme", Subject: "s"}, index.ErrToken},
		"subject":        {index.SubjectRemoval{Tenant: "acme"}, index.ErrToken},
	} {
		good := note(100+len(name), 1)
		err := p.Apply(t.Context(), []index.Op{c.op, good})
		if !errors.Is(err, c.want) {
			t.Errorf("%s gives %v, want %v", name, err, c.want)
		}
		p.apply(t, good)
	}
	p.same(t, index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, Vector: []float32{1, 0}, Model: "m", K: 99})
}

func testBadQueries(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	for name, c := range map[string]struct {
		change func(q *index.Query)
		want   error
	}{
		"no tenant": {func(q *index.Query) { q.Tenant = "" }, index.ErrTenant},
		"tenant":    {func(q *index.Query) { q.Tenant = "acme/x" }, index.ErrTenant},
		"subject":   {func(q *index.Query) { q.Subjects = []string{""} }, index.ErrToken},
		"kind":      {func(q *index.Query) { q.Kinds = []index.Kind{0} }, index.ErrQuery},
		"k":         {func(q *index.Query) { q.K = -1 }, index.ErrQuery},
		"no model":  {func(q *index.Query) { q.Vector = []float32{1} }, index.ErrToken},
		"NaN":       {func(q *index.Query) { q.Vector, q.Model = []float32{float32(math.NaN())}, "m" }, index.ErrVectorValue},
		"zero":      {func(q *index.Query) { q.Vector, q.Model = []float32{0, 0}, "m" }, index.ErrVectorNorm},
	} {
		q := index.Query{Filter: index.Filter{Tenant: "acme"}, K: 1}
		if _, err := p.Candidates(t.Context(), q); err != nil {
			t.Fatalf("the good query gives %v", err)
		}
		c.change(&q)
		if _, err := p.Candidates(t.Context(), q); !errors.Is(err, c.want) {
			t.Errorf("%s gives %v, want %v", name, err, c.want)
		}
	}
	if _, err := p.Count(t.Context(), index.Filter{}); !errors.Is(err, index.ErrTenant) {
		t.Errorf("count without a tenant gives %v", err)
	}
}

func testSizes(t *testing.T, open func(t *testing.T) Backend) {
	p, r := loadCorpus(t, open, 60)
	vector := unit(r, corpusDim, nil)
	for name, q := range map[string]index.Query{
		"nothing asked":   {K: 10},
		"k is zero":       {Terms: []uint64{1}, Vector: vector, Model: "m"},
		"k beyond":        {Terms: []uint64{1}, Vector: vector, Model: "m", K: 1 << 30},
		"words only":      {Terms: []uint64{0, 0, 1}, K: 7},
		"vector only":     {Vector: vector, Model: "m", K: 7},
		"unknown word":    {Terms: []uint64{math.MaxUint64}, K: 7},
		"unknown tenant":  {Filter: index.Filter{Tenant: "b"}, Terms: []uint64{1}, Vector: vector, Model: "m", K: 7},
		"unknown subject": {Filter: index.Filter{Tenant: "acme", Subjects: []string{"z"}}, Terms: []uint64{1}, K: 7},
	} {
		if q.Tenant == "" {
			q.Tenant = "acme"
		}
		c := p.same(t, q)
		if (len(c.Dense)+len(c.Lexical) > 0) != (name == "k beyond" || name == "words only" || name == "vector only") {
			t.Errorf("%s: %d and %d hits", name, len(c.Dense), len(c.Lexical))
		}
	}
}

func testRemoveSubject(t *testing.T, open func(t *testing.T) Backend) {
	p, r := loadCorpus(t, open, 1300)
	q := index.Query{
		Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{0, 1, 2}, Vector: unit(r, corpusDim, nil), Model: "m", K: 50,
	}
	before := p.same(t, q).Eligible
	// In one batch with a document of the subject put before, and one of another subject.
	d, e := note(9000, 1), note(9001, 1)
	d.Subject, e.Subject = "s2", "s1"
	p.apply(t, d, e, index.SubjectRemoval{Tenant: "acme", Subject: "s2"})
	after := p.same(t, q).Eligible
	if before-after < 256 {
		t.Fatalf("only %d documents went, too few to need several steps", before-after)
	}
	q.Subjects = []string{"s2"}
	if c := p.same(t, q); c.Eligible != 0 || len(c.Dense)+len(c.Lexical) != 0 {
		t.Fatalf("documents of the removed subject are found: %+v", c)
	}
}

func testUpdate(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	d := note(10, 1)
	d.Kind = index.Fact
	p.apply(t, d, vectorOf(d, 1, 0))
	update := func(seq uint64, to int64) index.Update {
		return index.Update{Tenant: "acme", Subject: "s", ID: d.ID, Seq: seq, ValidToUS: &to}
	}
	at := func(us int64, want int) {
		t.Helper()
		c := p.same(t, index.Query{
			Filter: index.Filter{Tenant: "acme", ValidAtUS: &us}, Terms: []uint64{1}, Vector: []float32{1, 0}, Model: "m", K: 5,
		})
		if len(c.Dense) != want || len(c.Lexical) != want {
			t.Fatalf("at %d: %d and %d hits, want %d", us, len(c.Dense), len(c.Lexical), want)
		}
	}
	at(100, 1)
	p.apply(t, update(20, 50))
	at(100, 0)
	at(49, 1)
	p.apply(t, update(15, 500), d) // both too old
	at(100, 0)
	p.apply(t, update(21, 200))
	at(100, 1)
	p.apply(t, index.Update{Tenant: "acme", Subject: "s", ID: d.ID, Seq: 22, ExpiresUS: new(int64(1)), Trust: new(uint8(7))})
	at(100, 1)
	if c := p.same(t, index.Query{Filter: index.Filter{Tenant: "acme", NowUS: 5}}); c.Eligible != 0 {
		t.Fatal("the new expiry is not seen")
	}
	if c := p.same(t, index.Query{Filter: index.Filter{Tenant: "acme", Where: index.AtLeast(index.NumberTrust, 7)}}); c.Eligible != 1 {
		t.Fatal("the new trust is not seen")
	}
	p.apply(t, index.Removal{Tenant: "acme", Subject: "s", ID: d.ID}, update(30, 500))
	at(100, 0)
}
