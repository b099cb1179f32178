package qdrantindex

import "github.com/qdrant/go-client/qdrant"

// clause is a condition that may be known to hold always or never.
type clause struct {
	known, holds bool
	c            *qdrant.Condition
}

func always(holds bool) clause { return clause{known: true, holds: holds} }

func is(c *qdrant.Condition) clause { return clause{c: c} }

// both holds if all of the clauses do.
func both(list ...clause) clause {
	var must []*qdrant.Condition
	for _, cl := range list {
		switch {
		case cl.known && !cl.holds:
			return cl
		case cl.known:
		case onlyMust(cl.c.GetFilter()):
			must = append(must, cl.c.GetFilter().GetMust()...)
		default:
			must = append(must, cl.c)
		}
	}
	switch len(must) {
	case 0:
		return always(true)
	case 1:
		return is(must[0])
	}
	return is(qdrant.NewFilterAsCondition(&qdrant.Filter{Must: must}))
}

// either holds if any of the clauses does.
func either(list ...clause) clause {
	var should []*qdrant.Condition
	for _, cl := range list {
		switch {
		case cl.known && cl.holds:
			return cl
		case cl.known:
		case onlyShould(cl.c.GetFilter()):
			should = append(should, cl.c.GetFilter().GetShould()...)
		default:
			should = append(should, cl.c)
		}
	}
	switch len(should) {
	case 0:
		return always(false)
	case 1:
		return is(should[0])
	}
	return is(qdrant.NewFilterAsCondition(&qdrant.Filter{Should: should}))
}

// not holds if the clause does not.
func not(cl clause) clause {
	if cl.known {
		return always(!cl.holds)
	}
	if f := cl.c.GetFilter(); len(f.GetMustNot()) == 1 && len(f.GetMust())+len(f.GetShould()) == 0 {
		return is(f.GetMustNot()[0])
	}
	return is(qdrant.NewFilterAsCondition(&qdrant.Filter{MustNot: []*qdrant.Condition{cl.c}}))
}

func onlyMust(f *qdrant.Filter) bool {
	return len(f.GetMust()) > 0 && len(f.GetShould())+len(f.GetMustNot()) == 0
}

func onlyShould(f *qdrant.Filter) bool {
	return len(f.GetShould()) > 0 && len(f.GetMust())+len(f.GetMustNot()) == 0
}

// filter makes a clause the filter of a request.
func (cl clause) filter() *qdrant.Filter {
	if f := cl.c.GetFilter(); f != nil {
		return f
	}
	return &qdrant.Filter{Must: []*qdrant.Condition{cl.c}}
}

// depth is how deep the filters of a condition are nested.
func depth(c *qdrant.Condition) int {
	f := c.GetFilter()
	if f == nil {
		return 0
	}
	deepest := 0
	for _, part := range [...][]*qdrant.Condition{f.GetMust(), f.GetShould(), f.GetMustNot()} {
		for _, inner := range part {
			deepest = max(deepest, depth(inner))
		}
	}
	return deepest + 1
}

func anyKeyword(name string, names []string) clause {
	if len(names) == 0 {
		return always(false)
	}
	return is(qdrant.NewMatchKeywords(name, keywords(names)...))
}

func between(name string, from, to int64) clause {
	return is(qdrant.NewRange(name, &qdrant.Range{Gte: new(float64(from)), Lte: new(float64(to))}))
}

// atLeast holds if a number in two parts is not below from.
func atLeast(name string, from int64) clause {
	high, low := split(from)
	return either(
		is(qdrant.NewRange(name+highPart, &qdrant.Range{Gt: new(float64(high))})),
		both(between(name+highPart, high, high), is(qdrant.NewRange(name+lowPart, &qdrant.Range{Gte: new(float64(low))}))),
	)
}
