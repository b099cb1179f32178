package pebbleindex

import (
	"fmt"

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
	where      *where // nil is no condition
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

func newMatcher(f *index.Filter) *matcher {
	m := &matcher{
		f:          f,
		sessions:   newTokenSet(f.Sessions),
		categories: newTokenSet(f.Categories),
		scopes:     newTokenSet(f.Scopes),
		any:        newTokenSet(f.EntitiesAny),
		where:      newWhere(f.Where),
		current:    f.Current,
	}
	if len(f.Exclude) > 0 {
		m.exclude = newTokenSet(f.Exclude)
	}
	for _, k := range f.Kinds {
		m.kinds[k] = true
	}
	m.lists = m.any != nil || m.where != nil && m.where.tokens
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
			p[i] = p[i] && (m.where == nil || m.where.holds(v, i))
		}
	} else if m.where != nil {
		for i := range p {
			p[i] = p[i] && m.where.holds(v, i)
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

// tail judges the tail of a row by all but the further condition, and shows its tokens to that.
func (m *matcher) tail(b []byte) (bool, error) {
	r := rowReader{b: b}
	excluded := m.exclude != nil
	id := r.token()
	excluded = excluded && m.exclude.admits(id)
	session, category, scope := r.token(), r.token(), r.token()
	ok := !excluded && m.sessions.admits(session) && m.categories.admits(category) && m.scopes.admits(scope)
	if ok = ok && (len(m.current) == 0 && !m.lists || m.isCurrent(&r)); ok && m.lists {
		w := m.where
		if w != nil && w.tokens {
			w.begin()
			w.see(index.FieldSession, session)
			w.see(index.FieldCategory, category)
			w.see(index.FieldScope, scope)
		} else {
			w = nil
		}
		if ok = m.entities(&r, w); ok && w != nil {
			w.list(index.FieldLabels, &r)
		}
	}
	if r.bad {
		return false, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return ok, nil
}

// entities reads the entities, shows them to w unless it is nil, and reports whether one of them is admitted.
func (m *matcher) entities(r *rowReader, w *where) bool {
	if m.any == nil {
		w.list(index.FieldEntities, r)
		return true
	}
	hit := false
	for range r.number(2) {
		token := r.token()
		hit = hit || m.any.admits(token)
		if w != nil {
			w.see(index.FieldEntities, token)
		}
	}
	return hit
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
