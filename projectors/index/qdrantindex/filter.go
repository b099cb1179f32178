package qdrantindex

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// maxDepth keeps a filter within the hundred levels of nesting that readers of messages stop at: each filter is two. What
// [index.MaxWhereDepth] lets through is within it.
const maxDepth = 40

// scopeOf is the tenant's documents of the subjects of the filter, from which lexical statistics are taken.
func scopeOf(f *index.Filter) clause {
	list := []clause{row(rowDocument), is(qdrant.NewMatchKeyword(fieldTenant, f.Tenant))}
	if f.Subjects != nil {
		list = append(list, anyKeyword(fieldSubject, f.Subjects))
	}
	return both(list...)
}

func row(kind string) clause { return is(qdrant.NewMatchKeyword(fieldRow, kind)) }

// translate makes a clause of a filter that is valid. One that the server could not read is [index.ErrQuery].
func translate(f *index.Filter) (clause, error) {
	list := []clause{scopeOf(f), expires(f.NowUS)}
	if f.Kinds != nil {
		list = append(list, kinds(f.Kinds))
	}
	for _, allowed := range []struct {
		field string
		names []string
	}{
		{fieldSession, f.Sessions},
		{fieldCategory, f.Categories},
		{fieldScope, f.Scopes},
		{fieldEntities, f.EntitiesAny},
	} {
		if allowed.names != nil {
			list = append(list, anyKeyword(allowed.field, allowed.names))
		}
	}
	if f.OccurredFromUS != nil {
		list = append(list, atLeast(fieldOccurred, *f.OccurredFromUS))
	}
	if f.OccurredToUS != nil {
		list = append(list, not(atLeast(fieldOccurred, *f.OccurredToUS)))
	}
	if f.ValidAtUS != nil {
		list = append(list, either(
			not(is(qdrant.NewMatchInt(fieldKind, int64(index.Fact)))),
			both(not(above(fieldFrom, *f.ValidAtUS)), above(fieldTo, *f.ValidAtUS)),
		))
	}
	if len(f.Exclude) > 0 {
		ids := make([]*qdrant.PointId, len(f.Exclude))
		for i, id := range f.Exclude {
			ids[i] = documentID(f.Tenant, id)
		}
		list = append(list, not(is(qdrant.NewHasID(ids...))))
	}
	if len(f.Current) > 0 {
		list = append(list, current(f.Current))
	}
	if f.Where != nil {
		list = append(list, where(f.Where, true))
	}
	all := both(list...)
	if !all.known && depth(all.c) > maxDepth {
		return clause{}, fmt.Errorf("check depth of condition: %w", index.ErrQuery)
	}
	return all, nil
}

func kinds(kinds []index.Kind) clause {
	if len(kinds) == 0 {
		return always(false)
	}
	values := make([]int64, len(kinds))
	for i, k := range kinds {
		values[i] = int64(k)
	}
	return is(qdrant.NewMatchInts(fieldKind, values...))
}

// above holds if a number in two parts is above x.
func above(name string, x int64) clause {
	if x == math.MaxInt64 {
		return always(false)
	}
	return atLeast(name, x+1)
}

// expires is that a document never expires or has not.
func expires(now int64) clause {
	return either(
		both(between(fieldExpires+highPart, 0, 0), between(fieldExpires+lowPart, 0, 0)),
		above(fieldExpires, now),
	)
}

// current is that a document has no origins, or one that its source admits.
func current(sources map[string]index.Current) clause {
	names := slices.Sorted(maps.Keys(sources))
	list := []clause{
		is(qdrant.NewIsEmpty(fieldSources)),
		is(qdrant.NewMatchExceptKeywords(fieldSources, keywords(names)...)),
	}
	var admitted []string
	for _, source := range names {
		c := sources[source]
		if c.Revision != "" {
			admitted = append(admitted, revisionKeyword(source, c.Revision))
		}
		if c.After == math.MaxUint64 {
			continue
		}
		// What names no revision is judged by where it was taken, origin by origin.
		origin := both(
			is(qdrant.NewMatchKeyword(fieldSource, keyword(source))),
			is(qdrant.NewMatchKeyword(fieldRevision, "")),
			above(fieldSeq, ordered(c.After)),
		)
		list = append(list, is(qdrant.NewNestedFilter(fieldOrigins, origin.filter())))
	}
	if len(admitted) > 0 {
		list = append(list, is(qdrant.NewMatchKeywords(fieldRevised, admitted...)))
	}
	return either(list...)
}
