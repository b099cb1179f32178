package pebbleindex

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/projectors/index"
)

// matcher judges encoded blocks of forward rows by a filter without decoding the rows.
type matcher struct {
	f          *index.Filter
	kinds      [256]bool // admitted, looked at only when the filter names some
	sessions   tokenSet
	categories tokenSet
	scopes     tokenSet
	any        tokenSet
	all        []string
	labels     []string
	exclude    tokenSet
	current    map[string]index.Current // as the filter has it
	tokens     bool                     // some condition looks at the tail
	lists      bool                     // some condition looks at entities or labels
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
		current:    f.Current,
	}
	if len(f.Exclude) > 0 {
		m.exclude = newTokenSet(f.Exclude)
	}
	for _, k := range f.Kinds {
		m.kinds[k] = true
	}
	m.lists = m.any != nil || len(m.all) > 0 || len(m.labels) > 0
	m.tokens = m.lists || len(m.current) > 0 || m.exclude != nil || m.sessions != nil || m.categories != nil || m.scopes != nil
	return m
}

// judge returns the places of the rows of v that pass.
func (m *matcher) judge(v *forwardView) (places, error) {
	var pass [blockRows]bool
	p := pass[:v.n]
	for i := range p {
		p[i] = true
	}
	m.fixed(v, p)
	if m.tokens {
		for i := range p {
			if !p[i] {
				continue
			}
			tail, err := v.tail(i)
			if err != nil {
				return places{}, err
			}
			if p[i], err = m.tail(tail); err != nil {
				return places{}, err
			}
		}
	}
	out, rank := v.set, 0
	for w, set := range v.set {
		for ; set != 0; set &= set - 1 {
			if !p[rank] {
				out[w] &^= set & -set
			}
			rank++
		}
	}
	return out, nil
}

// fixed judges the columns, and takes out of p what does not pass.
func (m *matcher) fixed(v *forwardView, p []bool) {
	for i := range p {
		expires := i64(v.expires, i)
		p[i] = expires == 0 || expires > m.f.NowUS
	}
	if m.f.Kinds != nil {
		for i, kind := range v.kind[:len(p)] {
			p[i] = p[i] && m.kinds[kind]
		}
	}
	if m.f.MinTrust > 0 {
		for i, trust := range v.trust[:len(p)] {
			p[i] = p[i] && trust >= m.f.MinTrust
		}
	}
	if from := m.f.OccurredFromUS; from != nil {
		for i := range p {
			p[i] = p[i] && i64(v.occurred, i) >= *from
		}
	}
	if to := m.f.OccurredToUS; to != nil {
		for i := range p {
			p[i] = p[i] && i64(v.occurred, i) < *to
		}
	}
	if at := m.f.ValidAtUS; at != nil {
		for i := range p {
			p[i] = p[i] && (index.Kind(v.kind[i]) != index.Fact || i64(v.validFrom, i) <= *at && *at < i64(v.validTo, i))
		}
	}
}

// tail judges the tail of a row.
func (m *matcher) tail(b []byte) (bool, error) {
	r := rowReader{b: b}
	excluded := m.exclude != nil
	id := r.token()
	excluded = excluded && m.exclude.admits(id)
	session, category, scope := r.token(), r.token(), r.token()
	ok := !excluded && m.sessions.admits(session) && m.categories.admits(category) && m.scopes.admits(scope)
	if ok = ok && (len(m.current) == 0 && !m.lists || m.isCurrent(&r)); ok && m.lists {
		hit, every := r.matchList(m.any, m.all)
		if ok = every && (m.any == nil || hit); ok {
			_, ok = r.matchList(nil, m.labels)
		}
	}
	if r.bad {
		return false, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return ok, nil
}

// isCurrent reads the origins and reports whether there are none or one of them is admitted.
func (m *matcher) isCurrent(r *rowReader) bool {
	n := r.number(2)
	ok := n == 0
	for range n {
		source, revision, seq := r.token(), r.token(), r.number(8)
		if ok {
			continue
		}
		c, known := m.current[string(source)]
		switch {
		case !known:
			ok = true
		case len(revision) == 0:
			ok = seq > c.After
		default:
			ok = string(revision) == c.Revision
		}
	}
	return ok
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
