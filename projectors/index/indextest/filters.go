package indextest

import (
	"testing"

	"github.com/annals-memory/annals/projectors/index"
)

// testFilterFields sets each field alone and demands that it takes some documents away and not all.
func testFilterFields(t *testing.T, open func(t *testing.T) Backend) {
	p, r := loadCorpus(t, open, 400)
	base := index.Query{
		Filter: index.Filter{Tenant: "acme"}, K: 50, Terms: []uint64{0, 1, 5}, Model: "m", Vector: unit(r, corpusDim, nil),
	}
	total := p.same(t, base).Eligible
	for name, set := range map[string]func(f *index.Filter){
		"Subjects":       func(f *index.Filter) { f.Subjects = []string{"s1", "s2"} },
		"Kinds":          func(f *index.Filter) { f.Kinds = []index.Kind{index.Fact} },
		"Sessions":       func(f *index.Filter) { f.Sessions = []string{"n1", "n3"} },
		"Categories":     func(f *index.Filter) { f.Categories = []string{"c0"} },
		"Scopes":         func(f *index.Filter) { f.Scopes = []string{"o0", "o2"} },
		"EntitiesAny":    func(f *index.Filter) { f.EntitiesAny = []string{"e1", "e2"} },
		"OccurredFromUS": func(f *index.Filter) { f.OccurredFromUS = new(int64(300)) },
		"OccurredToUS":   func(f *index.Filter) { f.OccurredToUS = new(int64(300)) },
		"ValidAtUS":      func(f *index.Filter) { f.ValidAtUS = new(int64(250)) },
		"NowUS":          func(f *index.Filter) { f.NowUS = 500 },
		"Exclude":        func(f *index.Filter) { f.Exclude = []string{id(3), id(4)} },
		"Current":        func(f *index.Filter) { f.Current = map[string]index.Current{"d1": {Revision: "r1"}, "d2": {}} },
	} {
		q := base
		set(&q.Filter)
		if n := p.same(t, q).Eligible; n == 0 || n >= total {
			t.Errorf("%s leaves %d of %d documents", name, n, total)
		}
	}
}

func testEmptyAllowList(t *testing.T, open func(t *testing.T) Backend) {
	p, _ := loadCorpus(t, open, 50)
	for name, f := range map[string]index.Filter{
		"Subjects":    {Subjects: []string{}},
		"Kinds":       {Kinds: []index.Kind{}},
		"Sessions":    {Sessions: []string{}},
		"Categories":  {Categories: []string{}},
		"Scopes":      {Scopes: []string{}},
		"EntitiesAny": {EntitiesAny: []string{}},
	} {
		f.Tenant = "acme"
		if c := p.same(t, index.Query{Filter: f, Terms: []uint64{0, 1}, K: 10}); c.Eligible != 0 || len(c.Lexical) != 0 {
			t.Errorf("an empty list of %s lets %d documents pass", name, c.Eligible)
		}
	}
	// No condition comes from an empty list of what must all hold, or of what must be away.
	f := index.Filter{Tenant: "acme", Where: index.And{}, Exclude: []string{}}
	if c := p.same(t, index.Query{Filter: f}); c.Eligible != 50 {
		t.Errorf("empty lists without a condition let %d of 50 documents pass", c.Eligible)
	}
}

func testTimeBounds(t *testing.T, open func(t *testing.T) Backend) {
	const at = int64(1)<<53 + 1 // beyond what a float64 can count
	p := newPair(t, open)
	d := note(1, 1)
	d.Kind, d.OccurredUS, d.ValidFromUS, d.ValidToUS, d.ExpiresUS = index.Fact, at, at, at+2, at+1
	p.apply(t, d)
	for name, c := range map[string]struct {
		f    index.Filter
		want int
	}{
		"from included":       {index.Filter{OccurredFromUS: new(at)}, 1},
		"from after":          {index.Filter{OccurredFromUS: new(at + 1)}, 0},
		"to excluded":         {index.Filter{OccurredToUS: new(at)}, 0},
		"to after":            {index.Filter{OccurredToUS: new(at + 1)}, 1},
		"before validity":     {index.Filter{ValidAtUS: new(at - 1)}, 0},
		"validity begins":     {index.Filter{ValidAtUS: new(at)}, 1},
		"validity lasts":      {index.Filter{ValidAtUS: new(at + 1)}, 1},
		"validity ends":       {index.Filter{ValidAtUS: new(at + 2)}, 0},
		"before expiry":       {index.Filter{NowUS: at}, 1},
		"expired":             {index.Filter{NowUS: at + 1}, 0},
		"expired long ago":    {index.Filter{NowUS: at * 2}, 0},
		"expiry is not asked": {index.Filter{}, 1},
	} {
		c.f.Tenant = "acme"
		if got := p.same(t, index.Query{Filter: c.f, Terms: []uint64{1}, K: 1}).Eligible; got != c.want {
			t.Errorf("%s: %d documents pass, want %d", name, got, c.want)
		}
	}
	// Validity is a matter of facts.
	e := note(2, 1)
	e.ValidFromUS, e.ValidToUS = at, at+2
	p.apply(t, e)
	f := index.Filter{Tenant: "acme", ValidAtUS: new(int64(0))}
	if got := p.same(t, index.Query{Filter: f}).Eligible; got != 1 {
		t.Errorf("%d documents pass at a time when only the episode can, want 1", got)
	}
}

// testFilterBeforeRank puts a hundred better documents out of the filter's reach.
func testFilterBeforeRank(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	live := note(1000, 1)
	live.Length = 50
	p.apply(t, live, vectorOf(live, 0.6, 0.8))
	for i := range 100 {
		d := note(i+1, 1)
		d.ExpiresUS = 5
		p.apply(t, d, vectorOf(d, 1, 0))
	}
	q := index.Query{Filter: index.Filter{Tenant: "acme"}, Terms: []uint64{1}, Vector: []float32{1, 0}, Model: "m", K: 5}
	if c := p.same(t, q); c.Dense[0].ID == live.ID || c.Lexical[0].ID == live.ID {
		t.Fatal("the others are no better, so the test shows nothing")
	}
	q.NowUS = 10
	c := p.same(t, q)
	if len(c.Dense) != 1 || len(c.Lexical) != 1 || c.Dense[0].ID != live.ID || c.Lexical[0].ID != live.ID {
		t.Fatalf("the live document is displaced: %+v", c)
	}
}

// testCurrent is a document with any origins against what one source admits.
func testCurrent(t *testing.T, open func(t *testing.T) Backend) {
	p := newPair(t, open)
	old, fresh := index.Origin{Source: "d", Revision: "1", Seq: 1}, index.Origin{Source: "d", Revision: "2", Seq: 1}
	other := index.Origin{Source: "e", Revision: "1", Seq: 1}
	for n, c := range []struct {
		origins []index.Origin
		want    bool
	}{
		{nil, true},
		{[]index.Origin{old}, false},
		{[]index.Origin{fresh}, true},
		{[]index.Origin{old, fresh}, true},
		{[]index.Origin{old, other}, true},
		{[]index.Origin{{Source: "d", Seq: 7}}, false},
		{[]index.Origin{{Source: "d", Seq: 8}}, true},
		{[]index.Origin{{Source: "d", Revision: "1", Seq: 8}}, false},
	} {
		d := note(n+1, 1)
		d.Origins = c.origins
		want := 0
		if c.want {
			want = 1
		}
		q := index.Query{Terms: []uint64{1}, K: 1, Filter: index.Filter{
			Tenant: "acme", Current: map[string]index.Current{"d": {Revision: "2", After: 7}},
		}}
		p.apply(t, d)
		if got := p.same(t, q).Eligible; got != want {
			t.Errorf("origins %v: %d documents pass, want %d", c.origins, got, want)
		}
		// What it was taken from can change.
		was := index.Update{Tenant: d.Tenant, Subject: d.Subject, ID: d.ID, Seq: d.Seq, Origins: &[]index.Origin{old}}
		p.apply(t, was)
		if got := p.same(t, q).Eligible; got != 0 {
			t.Errorf("%d documents pass when all are of an old revision", got)
		}
	}
}
