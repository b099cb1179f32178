package pebbleindex

import (
	"bytes"
	"slices"

	"github.com/annals-memory/annals/projectors/index"
)

// matcher judges encoded forward rows by a filter without decoding them.
type matcher struct {
	f          *index.Filter
	kinds      [256]bool
	sessions   tokenSet
	categories tokenSet
	scopes     tokenSet
	any        tokenSet
	all        []string
	labels     []string
	exclude    tokenSet
	tokens     bool // some condition looks past the fixed fields
	lists      bool // some condition looks at entities or labels
}

// tokenSet is a set of admitted tokens; nil admits all.
type tokenSet map[string]struct{}

func newTokenSet(tokens []string) tokenSet {
	if tokens == nil {
		return nil
	}
	s := make(tokenSet, len(tokens))
	for _, t := range tokens {
		s[t] = struct{}{}
	}
	return s
}

func (s tokenSet) admits(token []byte) bool {
	if s == nil {
		return true
	}
	_, ok := s[string(token)]
	return ok
}

func distinct(tokens []string) []string {
	tokens = slices.Clone(tokens)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

func newMatcher(f *index.Filter) *matcher {
	m := &matcher{
		f:          f,
		sessions:   newTokenSet(f.Sessions),
		categories: newTokenSet(f.Categories),
		scopes:     newTokenSet(f.Scopes),
		any:        newTokenSet(f.EntitiesAny),
		all:        distinct(f.EntitiesAll),
		labels:     distinct(f.LabelsAll),
	}
	if len(f.Exclude) > 0 {
		m.exclude = newTokenSet(f.Exclude)
	}
	for i := range m.kinds {
		m.kinds[i] = f.Kinds == nil
	}
	for _, k := range f.Kinds {
		m.kinds[k] = true
	}
	m.lists = m.any != nil || len(m.all) > 0 || len(m.labels) > 0
	m.tokens = m.lists || m.exclude != nil || m.sessions != nil || m.categories != nil || m.scopes != nil
	return m
}

// fixed judges the fields at fixed offsets of a row that checkRow has passed.
func (m *matcher) fixed(b []byte) bool {
	if !m.kinds[b[offKind]] || b[offTrust] < m.f.MinTrust {
		return false
	}
	if from := m.f.OccurredFromUS; from != nil && rowInt(b, offOccurred) < *from {
		return false
	}
	if to := m.f.OccurredToUS; to != nil && rowInt(b, offOccurred) >= *to {
		return false
	}
	if at := m.f.ValidAtUS; at != nil && index.Kind(b[offKind]) == index.Fact &&
		(*at < rowInt(b, offValidFrom) || *at >= rowInt(b, offValidTo)) {
		return false
	}
	expires := rowInt(b, offExpires)
	return expires == 0 || expires > m.f.NowUS
}

// match judges a row that checkRow has passed. A row that ends too early never matches.
func (m *matcher) match(b []byte) bool {
	if !m.fixed(b) {
		return false
	}
	if !m.tokens {
		return true
	}
	r := rowReader{b: b[offTokens:]}
	if id := r.token(); m.exclude != nil && m.exclude.admits(id) {
		return false
	}
	ok := m.sessions.admits(r.token()) && m.categories.admits(r.token()) && m.scopes.admits(r.token())
	if !ok || !m.lists {
		return ok && !r.bad
	}
	hit, ok := r.matchList(m.any, m.all)
	if !ok || (m.any != nil && !hit) {
		return false
	}
	_, ok = r.matchList(nil, m.labels)
	return ok && !r.bad
}

// matchList reads a list and reports whether one of its tokens is in some, and whether all tokens of all are in the list.
func (r *rowReader) matchList(some tokenSet, all []string) (hit, every bool) {
	n := r.number(2)
	list := r.b
	for range n {
		token := r.token()
		if some != nil && some.admits(token) {
			hit = true
		}
	}
	for _, want := range all {
		l := rowReader{b: list}
		found := false
		for range n {
			if bytes.Equal(l.token(), []byte(want)) {
				found = true
				break
			}
		}
		if !found {
			return hit, false
		}
	}
	return hit, true
}
