package qdrantindex

import (
	"context"
	"fmt"
	"slices"

	"github.com/qdrant/go-client/qdrant"

	"github.com/annals-memory/annals/projectors/index"
)

// Writer collects the operations of one batch of events and writes their outcome on Flush.
//
// It reads what is stored of a document once, and remembers what it changed itself, so that operations of one batch on the
// same document see one another. An operation that returns an error has changed nothing, and the Writer can go on unless the
// error is the server's. It is not safe for concurrent use, and of a collection there must be one at a time.
type Writer struct {
	ix      *Index
	entries map[Key]*entry
	order   []*entry
	models  map[modelKey]*model
	cursors map[subjectKey]*qdrant.PointId // where the removal of a subject goes on
	flushed bool
}

// Key names a document.
type Key struct{ Tenant, ID string }

type modelKey struct{ tenant, model string }

type subjectKey struct{ tenant, subject string }

// entry is one document that the batch touches.
type entry struct {
	key     Key
	stored  bool    // the point is of a document, and not the tombstone of one
	cur     *memory // nil when the document is not there, or no longer
	changed bool
}

// NewWriter returns a Writer over what is stored.
func (ix *Index) NewWriter() *Writer {
	return &Writer{
		ix: ix, entries: make(map[Key]*entry), models: make(map[modelKey]*model),
		cursors: make(map[subjectKey]*qdrant.PointId),
	}
}

// Load reads what is stored of documents ahead of the operations on them, in few requests. It is not needed, but saves one
// request for each document.
func (w *Writer) Load(ctx context.Context, keys ...Key) error {
	if w.flushed {
		return ErrFlushed
	}
	var ids []*qdrant.PointId
	wanted := make(map[string]*entry)
	for _, k := range keys {
		if w.entries[k] != nil {
			continue
		}
		e := w.add(k)
		id := documentID(k.Tenant, k.ID)
		ids = append(ids, id)
		wanted[id.GetUuid()] = e
	}
	points, err := w.ix.get(ctx, ids, qdrant.NewWithVectorsEnable(true))
	if err != nil {
		w.forget(keys)
		return err
	}
	for _, p := range points {
		if err := wanted[p.GetId().GetUuid()].read(p); err != nil {
			w.forget(keys)
			return err
		}
	}
	return nil
}

func (w *Writer) add(k Key) *entry {
	e := &entry{key: k}
	w.entries[k] = e
	w.order = append(w.order, e)
	return e
}

// forget drops the entries that are not what is stored.
func (w *Writer) forget(keys []Key) {
	for _, k := range keys {
		if e := w.entries[k]; e != nil && !e.changed {
			delete(w.entries, k)
			w.order = slices.DeleteFunc(w.order, func(o *entry) bool { return o == e })
		}
	}
}

func (e *entry) read(p *qdrant.RetrievedPoint) error {
	if e == nil {
		return fmt.Errorf("read points: %w", index.ErrCorrupt)
	}
	payload := p.GetPayload()
	e.stored = isRow(payload, rowDocument, e.key.Tenant)
	if !e.stored && !isRow(payload, rowDead, e.key.Tenant) {
		return fmt.Errorf("read point: %w", index.ErrCorrupt)
	}
	if !e.stored {
		return nil
	}
	m, err := parse(payload, p.GetVectors())
	if err != nil {
		return err
	}
	for _, v := range m.vectors {
		if len(v.values) == 0 {
			return fmt.Errorf("read vector: %w", index.ErrCorrupt)
		}
	}
	e.cur = m
	return nil
}

func (w *Writer) entry(ctx context.Context, tenant, id string) (*entry, error) {
	k := Key{Tenant: tenant, ID: id}
	if w.entries[k] == nil {
		if err := w.Load(ctx, k); err != nil {
			return nil, err
		}
	}
	return w.entries[k], nil
}

// check refuses what did not validate and what comes too late.
func (w *Writer) check(invalid error) error {
	if w.flushed {
		return ErrFlushed
	}
	return invalid
}

// Put stores d in place of what is known of its id. It is dropped when the stored document has the same Seq or a greater one.
// The vectors of an older version are dropped with it. Errors are those of [index.Doc.Validate] and the server's.
func (w *Writer) Put(ctx context.Context, d index.Doc) error {
	if err := w.check(d.Validate()); err != nil {
		return fmt.Errorf("put document: %w", err)
	}
	e, err := w.entry(ctx, d.Tenant, d.ID)
	if err != nil {
		return err
	}
	if e.cur != nil && e.cur.doc.Seq >= d.Seq {
		return nil
	}
	d.Entities, d.Labels = slices.Clone(d.Entities), slices.Clone(d.Labels)
	d.Origins, d.Terms = slices.Clone(d.Origins), slices.Clone(d.Terms)
	e.cur, e.changed = &memory{doc: d, updated: d.Seq, vectors: make(map[string]vector)}, true
	return nil
}

// SetVector stores v beside its document. It is dropped when there is no such document, when the document is newer, or when
// the document has a vector of that model with the same Seq or a greater one. The first vector of a model fixes the
// dimension of the model for the tenant; another one is refused with [index.ErrVectorDim]. Other errors are those of
// [index.Vector.Validate] and the server's.
func (w *Writer) SetVector(ctx context.Context, v index.Vector) error {
	if err := w.check(v.Validate()); err != nil {
		return fmt.Errorf("set vector: %w", err)
	}
	e, err := w.entry(ctx, v.Tenant, v.ID)
	if err != nil {
		return err
	}
	if e.cur == nil || e.cur.doc.Subject != v.Subject || v.Seq < e.cur.doc.Seq {
		return nil
	}
	if old, ok := e.cur.vectors[v.Model]; ok && v.Seq <= old.seq {
		return nil
	}
	k := modelKey{tenant: v.Tenant, model: v.Model}
	m := w.models[k]
	if m == nil {
		known, err := w.ix.model(ctx, v.Tenant, v.Model)
		if err != nil {
			return err
		}
		m = &known
		w.models[k] = m
	}
	if err := m.admit(v.Values); err != nil {
		return err
	}
	e.cur.vectors[v.Model] = vector{seq: v.Seq, values: slices.Clone(v.Values)}
	e.changed = true
	return nil
}

// Update changes the fields of a document that u gives. It is dropped when the subject has no such document, or when the
// document or its last update has a greater Seq. Errors are those of [index.Update.Validate] and the server's.
func (w *Writer) Update(ctx context.Context, u index.Update) error {
	if err := w.check(u.Validate()); err != nil {
		return fmt.Errorf("update document: %w", err)
	}
	e, err := w.entry(ctx, u.Tenant, u.ID)
	if err != nil {
		return err
	}
	m := e.cur
	if m == nil || m.doc.Subject != u.Subject || u.Seq < m.updated {
		return nil
	}
	m.updated = u.Seq
	set(&m.doc.ValidFromUS, u.ValidFromUS)
	set(&m.doc.ValidToUS, u.ValidToUS)
	set(&m.doc.ExpiresUS, u.ExpiresUS)
	set(&m.doc.Trust, u.Trust)
	if u.Origins != nil {
		m.doc.Origins = slices.Clone(*u.Origins)
	}
	e.changed = true
	return nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Remove removes a document with its terms and vectors. It does nothing when the subject has no such document. Errors are
// those of [index.Removal.Validate] and the server's.
func (w *Writer) Remove(ctx context.Context, tenant, subject, id string) error {
	rm := index.Removal{Tenant: tenant, Subject: subject, ID: id}
	if err := w.check(rm.Validate()); err != nil {
		return fmt.Errorf("remove document: %w", err)
	}
	e, err := w.entry(ctx, tenant, id)
	if err != nil {
		return err
	}
	if e.cur != nil && e.cur.doc.Subject == subject {
		e.cur, e.changed = nil, true
	}
	return nil
}

// RemoveSubject removes the documents of a subject: those put in this batch, and up to 256 stored ones in each call. As long
// as more is true, the caller calls again, on this Writer or on one over the state after this one's batch. Errors are
// those of [index.SubjectRemoval.Validate] and the server's.
func (w *Writer) RemoveSubject(ctx context.Context, tenant, subject string) (more bool, err error) {
	rm := index.SubjectRemoval{Tenant: tenant, Subject: subject}
	if err := w.check(rm.Validate()); err != nil {
		return false, fmt.Errorf("remove subject: %w", err)
	}
	k := subjectKey{tenant: tenant, subject: subject}
	points, next, err := w.ix.documentsOf(ctx, k, w.cursors[k])
	if err != nil {
		return false, err
	}
	w.cursors[k] = next
	for _, p := range points {
		r := reader{payload: p.GetPayload()}
		key := Key{Tenant: tenant, ID: r.name(fieldID)}
		if r.bad {
			return false, fmt.Errorf("read point: %w", index.ErrCorrupt)
		}
		if w.entries[key] == nil {
			e := w.add(key)
			e.stored, e.changed = true, true
		}
	}
	for _, e := range w.order {
		if e.key.Tenant == tenant && e.cur != nil && e.cur.doc.Subject == subject {
			e.cur, e.changed = nil, true
		}
	}
	return next != nil, nil
}

// documentsOf reads a page of the documents of a subject, no more of them than removing them needs.
func (ix *Index) documentsOf(ctx context.Context, k subjectKey, from *qdrant.PointId) (points []*qdrant.RetrievedPoint, next *qdrant.PointId, err error) {
	f := scopeOf(&index.Filter{Tenant: k.tenant, Subjects: []string{k.subject}}).filter()
	points, err = ask(ctx, ix.client, "read subject", func(ctx context.Context) (list []*qdrant.RetrievedPoint, err error) {
		list, next, err = ix.client.c.ScrollAndOffset(ctx, &qdrant.ScrollPoints{
			CollectionName: ix.collection, Filter: f, Offset: from, Limit: new(uint32(pageSize)),
			WithPayload: qdrant.NewWithPayloadInclude(fieldID), WithVectors: qdrant.NewWithVectorsEnable(false),
		})
		return list, err //nolint:wrapcheck // call says what it was.
	})
	return points, next, err
}
