package indextest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/annals-memory/annals/projectors/index"
)

// Oracle is the brute force answer to everything. Its zero value is not usable; see [NewOracle].
type Oracle struct {
	docs map[docKey]*memory
	dims map[[2]string]int
}

var _ Backend = (*Oracle)(nil)

type docKey struct{ tenant, id string }

type memory struct {
	doc     index.Doc
	updated uint64
	vectors map[string]index.Vector
}

// NewOracle returns an empty oracle.
func NewOracle() *Oracle {
	return &Oracle{docs: map[docKey]*memory{}, dims: map[[2]string]int{}}
}

// Drop removes everything.
func (o *Oracle) Drop(context.Context) error {
	*o = *NewOracle()
	return nil
}

// Apply applies ops in order.
func (o *Oracle) Apply(_ context.Context, ops []index.Op) error {
	var errs []error
	for _, op := range ops {
		errs = append(errs, o.apply(op))
	}
	return errors.Join(errs...)
}

func (o *Oracle) apply(op index.Op) error {
	switch op := op.(type) {
	case index.Doc:
		return o.put(op)
	case index.Vector:
		return o.setVector(op)
	case index.Update:
		return o.update(op)
	case index.Removal:
		if err := op.Validate(); err != nil {
			return fmt.Errorf("oracle remove: %w", err)
		}
		if m := o.find(op.Tenant, op.Subject, op.ID); m != nil {
			delete(o.docs, docKey{op.Tenant, op.ID})
		}
		return nil
	case index.SubjectRemoval:
		if err := op.Validate(); err != nil {
			return fmt.Errorf("oracle remove subject: %w", err)
		}
		for k, m := range o.docs {
			if k.tenant == op.Tenant && m.doc.Subject == op.Subject {
				delete(o.docs, k)
			}
		}
		return nil
	}
	return fmt.Errorf("oracle apply %T: %w", op, index.ErrDocument)
}

// find returns the document if it is there and of that subject.
func (o *Oracle) find(tenant, subject, id string) *memory {
	if m := o.docs[docKey{tenant, id}]; m != nil && m.doc.Subject == subject {
		return m
	}
	return nil
}

func (o *Oracle) put(d index.Doc) error {
	if err := d.Validate(); err != nil {
		return fmt.Errorf("oracle put: %w", err)
	}
	k := docKey{d.Tenant, d.ID}
	if m := o.docs[k]; m != nil && m.doc.Seq >= d.Seq {
		return nil
	}
	o.docs[k] = &memory{doc: d, updated: d.Seq, vectors: map[string]index.Vector{}}
	return nil
}

func (o *Oracle) setVector(v index.Vector) error {
	if err := v.Validate(); err != nil {
		return fmt.Errorf("oracle set vector: %w", err)
	}
	m := o.find(v.Tenant, v.Subject, v.ID)
	if m == nil || v.Seq < m.doc.Seq {
		return nil
	}
	if old, ok := m.vectors[v.Model]; ok && old.Seq >= v.Seq {
		return nil
	}
	k := [2]string{v.Tenant, v.Model}
	if dim, ok := o.dims[k]; ok && dim != len(v.Values) {
		return fmt.Errorf("oracle set vector: %w", index.ErrVectorDim)
	}
	o.dims[k] = len(v.Values)
	m.vectors[v.Model] = v
	return nil
}

func (o *Oracle) update(u index.Update) error {
	if err := u.Validate(); err != nil {
		return fmt.Errorf("oracle update: %w", err)
	}
	m := o.find(u.Tenant, u.Subject, u.ID)
	if m == nil || u.Seq < m.updated {
		return nil
	}
	m.updated = u.Seq
	if u.ValidFromUS != nil {
		m.doc.ValidFromUS = *u.ValidFromUS
	}
	if u.ValidToUS != nil {
		m.doc.ValidToUS = *u.ValidToUS
	}
	if u.ExpiresUS != nil {
		m.doc.ExpiresUS = *u.ExpiresUS
	}
	if u.Trust != nil {
		m.doc.Trust = *u.Trust
	}
	if u.Origins != nil {
		m.doc.Origins = *u.Origins
	}
	return nil
}

// Eligible reports whether d passes f, by the words of [index.Filter].
func Eligible(d *index.Doc, f *index.Filter) bool {
	return d.Tenant == f.Tenant &&
		among(f.Subjects, d.Subject) && among(f.Kinds, d.Kind) && among(f.Sessions, d.Session) &&
		among(f.Categories, d.Category) && among(f.Scopes, d.Scope) &&
		(f.EntitiesAny == nil || slices.ContainsFunc(f.EntitiesAny, func(e string) bool { return slices.Contains(d.Entities, e) })) &&
		(f.Where == nil || Holds(d, f.Where)) &&
		(f.OccurredFromUS == nil || d.OccurredUS >= *f.OccurredFromUS) &&
		(f.OccurredToUS == nil || d.OccurredUS < *f.OccurredToUS) &&
		(f.ValidAtUS == nil || d.Kind != index.Fact || (d.ValidFromUS <= *f.ValidAtUS && *f.ValidAtUS < d.ValidToUS)) &&
		(d.ExpiresUS == 0 || d.ExpiresUS > f.NowUS) &&
		!slices.Contains(f.Exclude, d.ID) &&
		(len(d.Origins) == 0 || slices.ContainsFunc(d.Origins, f.Admits))
}

// Holds reports whether w holds for d, by the words of [index.Where].
func Holds(d *index.Doc, w index.Where) bool {
	switch w := w.(type) {
	case index.And:
		return !slices.ContainsFunc(w, func(part index.Where) bool { return !Holds(d, part) })
	case index.Or:
		return slices.ContainsFunc(w, func(part index.Where) bool { return Holds(d, part) })
	case index.Not:
		return !Holds(d, w.Of)
	case index.AnyOf:
		return slices.ContainsFunc(tokensOf(d, w.Field), func(t string) bool { return slices.Contains(w.Tokens, t) })
	case index.Present:
		return slices.ContainsFunc(tokensOf(d, w.Field), func(t string) bool { return t != "" })
	case index.Within:
		n := numberOf(d, w.Number)
		return w.From <= n && n <= w.To
	}
	panic(fmt.Sprintf("no condition: %T", w))
}

func tokensOf(d *index.Doc, f index.Field) []string {
	return map[index.Field][]string{
		index.FieldSession: {d.Session}, index.FieldCategory: {d.Category}, index.FieldScope: {d.Scope},
		index.FieldEntities: d.Entities, index.FieldLabels: d.Labels,
	}[f]
}

func numberOf(d *index.Doc, n index.Number) int64 {
	return map[index.Number]int64{
		index.NumberKind: int64(d.Kind), index.NumberTrust: int64(d.Trust),
		index.NumberOccurredUS: d.OccurredUS, index.NumberObservedUS: d.ObservedUS,
	}[n]
}

func among[T comparable](list []T, x T) bool { return list == nil || slices.Contains(list, x) }

// Count returns the number of documents that pass f.
func (o *Oracle) Count(ctx context.Context, f index.Filter) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("oracle count: %w", err)
	}
	if err := f.Validate(); err != nil {
		return 0, fmt.Errorf("oracle count: %w", err)
	}
	n := 0
	for _, m := range o.docs {
		if Eligible(&m.doc, &f) {
			n++
		}
	}
	return n, nil
}

// Candidates returns the ranked lists for q.
func (o *Oracle) Candidates(ctx context.Context, q index.Query) (index.Candidates, error) {
	var out index.Candidates
	if err := ctx.Err(); err != nil {
		return out, fmt.Errorf("oracle candidates: %w", err)
	}
	if err := q.Validate(); err != nil {
		return out, fmt.Errorf("oracle candidates: %w", err)
	}
	if dim, ok := o.dims[[2]string{q.Tenant, q.Model}]; ok && len(q.Vector) > 0 && dim != len(q.Vector) {
		return out, fmt.Errorf("oracle candidates: %w", index.ErrVectorDim)
	}
	var scope, eligible []*memory
	for _, m := range o.docs {
		if m.doc.Tenant == q.Tenant && among(q.Subjects, m.doc.Subject) {
			scope = append(scope, m)
			if Eligible(&m.doc, &q.Filter) {
				eligible = append(eligible, m)
			}
		}
	}
	out.Eligible = len(eligible)
	lexical := newLexical(scope, q.Terms)
	if len(scope) > 0 && q.K > 0 && len(eligible) > 0 {
		out.Ceiling = lexical.ceiling()
	}
	for _, m := range eligible {
		v, hasVector := m.vectors[q.Model]
		hasVector = hasVector && len(q.Vector) > 0
		var near float64
		for i, x := range q.Vector {
			if hasVector {
				near += float64(x) * float64(v.Values[i])
			}
		}
		worded := lexical.score(m)
		if len(q.Vector) > 0 && !hasVector {
			out.VectorsMissing++
		}
		if hasVector {
			h := hit(m, near)
			h.Other, h.InBoth = worded, len(q.Terms) > 0
			out.Dense = append(out.Dense, h)
		}
		if worded > 0 {
			h := hit(m, worded)
			h.Other, h.InBoth = near, hasVector
			out.Lexical = append(out.Lexical, h)
		}
	}
	out.Dense, out.Lexical = ranked(out.Dense, q.K), ranked(out.Lexical, q.K)
	return out, nil
}

func hit(m *memory, score float64) index.Hit {
	return index.Hit{
		ID: m.doc.ID, Subject: m.doc.Subject, Kind: m.doc.Kind, Seq: m.doc.Seq, Trust: m.doc.Trust,
		ObservedUS: m.doc.ObservedUS, Session: m.doc.Session, Category: m.doc.Category, Score: score,
	}
}

func compareHits(a, b index.Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.ID, b.ID))
}

func ranked(hits []index.Hit, k int) []index.Hit {
	slices.SortFunc(hits, compareHits)
	return hits[:min(k, len(hits))]
}

// lexical holds the statistics of a scope for the terms of a query.
type lexical struct {
	terms   []uint64
	idf     map[uint64]float64
	average float64
}

func newLexical(scope []*memory, terms []uint64) lexical {
	l := lexical{idf: map[uint64]float64{}}
	var length float64
	for _, m := range scope {
		length += float64(m.doc.Length)
	}
	n := float64(len(scope))
	l.average = length / n
	l.terms = slices.Clone(terms)
	slices.Sort(l.terms)
	l.terms = slices.Compact(l.terms)
	for _, t := range l.terms {
		var df float64
		for _, m := range scope {
			if frequency(m, t) > 0 {
				df++
			}
		}
		l.idf[t] = math.Log(1 + (n-df+0.5)/(df+0.5))
	}
	return l
}

func (l *lexical) ceiling() float64 {
	var sum float64
	for _, t := range l.terms {
		sum += l.idf[t] * (index.BM25K1 + 1)
	}
	return sum
}

func frequency(m *memory, term uint64) float64 {
	for _, t := range m.doc.Terms {
		if t.Token == term {
			return float64(t.TF)
		}
	}
	return 0
}

func (l *lexical) score(m *memory) float64 {
	var sum float64
	for _, t := range l.terms {
		if tf := frequency(m, t); tf > 0 {
			relative := 0.0
			if l.average > 0 {
				relative = float64(m.doc.Length) / l.average
			}
			sum += l.idf[t] * tf * (index.BM25K1 + 1) / (tf + index.BM25K1*(1-index.BM25B+index.BM25B*relative))
		}
	}
	return sum
}
