package qdrantindex

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// memory is a document with all that the index knows of it.
type memory struct {
	doc     index.Doc
	updated uint64
	vectors map[string]vector // by model
}

type vector struct {
	seq    uint64
	values []float32
}

// write is a point as it will be stored.
type write struct {
	id      *qdrant.PointId
	payload map[string]any
	vectors map[string]*qdrant.Vector
}

// point gives a write its version.
func (w *write) point(m Mark) (*qdrant.PointStruct, error) {
	w.payload[fieldWrite], w.payload[fieldRound] = int64(m.Position), int64(m.Round) //nolint:gosec // a log is not that long.
	payload, err := qdrant.TryValueMap(w.payload)
	if err != nil {
		return nil, fmt.Errorf("encode point: %w", index.ErrToken) // the cause may quote a value
	}
	return &qdrant.PointStruct{Id: w.id, Payload: payload, Vectors: qdrant.NewVectorsMap(w.vectors)}, nil
}

// document is the point of m.
func (m *memory) document() write {
	d := &m.doc
	p := map[string]any{
		fieldRow: rowDocument, fieldTenant: d.Tenant, fieldSubject: keyword(d.Subject), fieldID: keyword(d.ID),
		fieldKind: int64(d.Kind), fieldSeq: signed(d.Seq), fieldUpdated: signed(m.updated),
		fieldSession: keyword(d.Session), fieldCategory: keyword(d.Category), fieldScope: keyword(d.Scope),
		fieldEntities: list(d.Entities, keyword), fieldLabels: list(d.Labels, keyword),
		fieldTrust: int64(d.Trust), fieldLength: int64(d.Length),
		fieldTerms: list(d.Terms, func(t index.Term) int64 { return signed(t.Token) }),
		fieldTFs:   list(d.Terms, func(t index.Term) int64 { return int64(t.TF) }),
	}
	for name, x := range numbers(d) {
		p[name+highPart], p[name+lowPart] = split(*x)
	}
	p[fieldOrigins] = list(d.Origins, func(o index.Origin) map[string]any {
		high, low := split(ordered(o.Seq))
		return map[string]any{
			fieldSource: keyword(o.Source), fieldRevision: keyword(o.Revision),
			fieldSeq + highPart: high, fieldSeq + lowPart: low,
		}
	})
	p[fieldSources] = list(d.Origins, func(o index.Origin) string { return keyword(o.Source) })
	p[fieldRevised] = list(d.Origins, func(o index.Origin) string { return revisionKeyword(o.Source, o.Revision) })
	vectors := make(map[string]*qdrant.Vector)
	models := slices.Sorted(maps.Keys(m.vectors))
	for _, model := range models {
		v := m.vectors[model]
		vectors[vectorName(model, len(v.values))] = qdrant.NewVectorDense(v.values)
	}
	p[fieldVectors] = list(models, func(model string) string { return vectorName(model, len(m.vectors[model].values)) })
	p[fieldModels] = list(models, keyword)
	p[fieldSeqs] = list(models, func(model string) int64 { return signed(m.vectors[model].seq) })
	if indices, values := sparse(d); len(indices) > 0 {
		vectors[wordsName] = qdrant.NewVectorSparse(indices, values)
	}
	return write{id: documentID(d.Tenant, d.ID), payload: p, vectors: vectors}
}

// dead is the point in place of a document that was removed. It tells nothing of it.
func dead(tenant, id string, at int64) write {
	return write{
		id: documentID(tenant, id), payload: map[string]any{fieldRow: rowDead, fieldTenant: tenant, fieldDead: at},
		vectors: map[string]*qdrant.Vector{},
	}
}

// numbers are the numbers of a document that can have any value of 64 bits.
func numbers(d *index.Doc) map[string]*int64 {
	return map[string]*int64{
		fieldOccurred: &d.OccurredUS, fieldObserved: &d.ObservedUS, fieldFrom: &d.ValidFromUS, fieldTo: &d.ValidToUS,
		fieldExpires: &d.ExpiresUS,
	}
}

// list makes of a list one that the client takes.
func list[T, U any](from []T, of func(T) U) []any {
	to := make([]any, len(from))
	for i, x := range from {
		to[i] = of(x)
	}
	return to
}

// reader reads a payload. After a value that is not there or not of its kind, bad is set.
type reader struct {
	payload map[string]*qdrant.Value
	bad     bool
}

func (r *reader) number(name string) int64 { return r.asNumber(r.payload[name]) }

func (r *reader) asNumber(v *qdrant.Value) int64 {
	if _, ok := v.GetKind().(*qdrant.Value_IntegerValue); !ok {
		r.bad = true
	}
	return v.GetIntegerValue()
}

func (r *reader) name(name string) string { return r.asName(r.payload[name]) }

func (r *reader) asName(v *qdrant.Value) string {
	name, err := plain(v.GetStringValue())
	if _, ok := v.GetKind().(*qdrant.Value_StringValue); !ok || err != nil {
		r.bad = true
	}
	return name
}

func (r *reader) list(name string) []*qdrant.Value {
	v := r.payload[name]
	if _, ok := v.GetKind().(*qdrant.Value_ListValue); !ok {
		r.bad = true
	}
	return v.GetListValue().GetValues()
}

func (r *reader) names(name string) []string {
	var names []string
	for _, v := range r.list(name) {
		names = append(names, r.asName(v))
	}
	return names
}

// small reads a number that has fewer bits.
func small[T uint8 | uint16 | uint32 | index.Kind](r *reader, x int64) T {
	if int64(T(x)) != x {
		r.bad = true
	}
	return T(x)
}

// isRow reports whether a point is of a sort, and the tenant's.
func isRow(payload map[string]*qdrant.Value, row, tenant string) bool {
	return payload[fieldRow].GetStringValue() == row && payload[fieldTenant].GetStringValue() == tenant
}

// parse reads a document from its point, with those of its vectors that came along.
func parse(payload map[string]*qdrant.Value, vectors *qdrant.VectorsOutput) (*memory, error) {
	r := &reader{payload: payload}
	m := &memory{updated: unsigned(r.number(fieldUpdated)), vectors: make(map[string]vector)}
	m.doc = index.Doc{
		Tenant: r.name(fieldTenant), Subject: r.name(fieldSubject), ID: r.name(fieldID),
		Kind: small[index.Kind](r, r.number(fieldKind)), Seq: unsigned(r.number(fieldSeq)),
		Session: r.name(fieldSession), Category: r.name(fieldCategory), Scope: r.name(fieldScope),
		Entities: r.names(fieldEntities), Labels: r.names(fieldLabels),
		Trust: small[uint8](r, r.number(fieldTrust)), Length: small[uint32](r, r.number(fieldLength)),
	}
	for name, x := range numbers(&m.doc) {
		*x = join(r.number(name+highPart), r.number(name+lowPart))
	}
	for _, v := range r.list(fieldOrigins) {
		o := reader{payload: v.GetStructValue().GetFields()}
		m.doc.Origins = append(m.doc.Origins, index.Origin{
			Source: o.name(fieldSource), Revision: o.name(fieldRevision),
			Seq: disordered(join(o.number(fieldSeq+highPart), o.number(fieldSeq+lowPart))),
		})
		r.bad = r.bad || o.bad
	}
	terms, tfs := r.list(fieldTerms), r.list(fieldTFs)
	models, seqs, names := r.names(fieldModels), r.list(fieldSeqs), r.names(fieldVectors)
	if len(terms) != len(tfs) || len(models) != len(seqs) || len(models) != len(names) {
		return nil, fmt.Errorf("read point: %w", index.ErrCorrupt)
	}
	for i := range terms {
		m.doc.Terms = append(m.doc.Terms, index.Term{
			Token: unsigned(r.asNumber(terms[i])), TF: small[uint16](r, r.asNumber(tfs[i])),
		})
	}
	for i, model := range models {
		values := vectors.GetVectors().GetVectors()[names[i]].GetDenseVector().GetData()
		m.vectors[model] = vector{seq: unsigned(r.asNumber(seqs[i])), values: values}
	}
	if r.bad {
		return nil, fmt.Errorf("read point: %w", index.ErrCorrupt)
	}
	return m, nil
}

// hit is what a hit says of m whatever its scores are.
func (m *memory) hit() index.Hit {
	d := &m.doc
	return index.Hit{
		ID: d.ID, Subject: d.Subject, Kind: d.Kind, Seq: d.Seq, Trust: d.Trust, ObservedUS: d.ObservedUS,
		Session: d.Session, Category: d.Category,
	}
}

func compareHits(a, b index.Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Seq, a.Seq), cmp.Compare(a.ID, b.ID))
}
