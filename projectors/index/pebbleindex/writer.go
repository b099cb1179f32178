package pebbleindex

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// removeStep is the number of documents that one call of [Writer.RemoveSubject] removes at most.
const removeStep = 256

// ErrFlushed means that a [Writer] was used after Flush.
var ErrFlushed = errors.New("pebbleindex: writer is flushed")

// Writer collects the operations of one batch of events and writes their outcome on Flush.
//
// It reads what is stored through the reader it was made with, which must not change until Flush, and remembers what it
// changed itself, so that operations of one batch on the same document see one another; the batch need not be indexed.
// An operation that returns an error has changed nothing, and the Writer can go on. It is not safe for concurrent use.
type Writer struct {
	ix      *Index
	r       pebble.Reader
	entries map[entryKey]*entry
	order   []*entry
	// forwards and vectorBlocks are the blocks read in this batch by their keys.
	forwards     map[string]*forwardBlock
	vectorBlocks map[string]*vectorBlock
	next         map[subjectKey]uint64 // the next free ordinal
	dims         map[modelKey]int      // dimensions seen in this batch
	cursors      map[subjectKey]uint32 // the block where the removal of a subject goes on
	newDims      []modelKey
	flushed      bool
}

type entryKey struct{ tenant, id string }

type modelKey struct{ tenant, model string }

type subjectKey struct{ tenant, subject string }

// entry is one document that the batch touches.
type entry struct {
	tenant, id   string
	stored       *location // nil when the store has no such document
	storedModels []string
	cur          *state // nil when the document is not there, or no longer
}

// state is a document as it will be after the batch.
type state struct {
	loc     location
	row     row
	fresh   bool // put in this batch: all rows are written
	changed bool // the forward row is written
	terms   []index.Term
	vectors map[string][]float32 // set in this batch
}

// NewWriter returns a Writer over what r sees.
func (ix *Index) NewWriter(r pebble.Reader) *Writer {
	return &Writer{
		ix: ix, r: r,
		entries:      map[entryKey]*entry{},
		forwards:     map[string]*forwardBlock{},
		vectorBlocks: map[string]*vectorBlock{},
		next:         map[subjectKey]uint64{},
		dims:         map[modelKey]int{},
		cursors:      map[subjectKey]uint32{},
	}
}

// Put stores d in place of what is known of its id. It is dropped when the stored document has the same Seq or a greater one.
// The vectors of an older version are dropped with it. Errors are those of [index.Doc.Validate].
func (w *Writer) Put(d index.Doc) error {
	if err := w.check(d.Validate()); err != nil {
		return fmt.Errorf("put document: %w", err)
	}
	e, err := w.entry(d.Tenant, d.ID)
	if err != nil {
		return err
	}
	if e.cur != nil && e.cur.row.seq >= d.Seq {
		return nil
	}
	loc, err := w.place(d.Tenant, d.Subject)
	if err != nil {
		return err
	}
	e.cur = &state{loc: loc, row: newRow(&d), fresh: true, terms: slices.Clone(d.Terms)}
	return nil
}

func newRow(d *index.Doc) row {
	return row{
		fixed: fixed{
			kind: d.Kind, trust: d.Trust, length: d.Length, occurred: d.OccurredUS, observed: d.ObservedUS,
			validFrom: d.ValidFromUS, validTo: d.ValidToUS, expires: d.ExpiresUS, seq: d.Seq, updated: d.Seq,
		},
		id: d.ID, session: d.Session, category: d.Category, scope: d.Scope,
		entities: slices.Clone(d.Entities), labels: slices.Clone(d.Labels), origins: slices.Clone(d.Origins),
	}
}

// SetVector stores v beside its document. It is dropped when there is no such document, when the document is newer, or when
// the document has a vector of that model with the same Seq or a greater one. The first vector of a model fixes the
// dimension of the model for the tenant; another one is refused with [index.ErrVectorDim]. Other errors are those of
// [index.Vector.Validate].
func (w *Writer) SetVector(v index.Vector) error {
	if err := w.check(v.Validate()); err != nil {
		return fmt.Errorf("set vector: %w", err)
	}
	e, err := w.entry(v.Tenant, v.ID)
	if err != nil {
		return err
	}
	cur := e.cur
	if cur == nil || cur.loc.subject != v.Subject || v.Seq < cur.row.seq {
		return nil
	}
	ref := cur.row.model(v.Model)
	if ref != nil && v.Seq <= ref.seq {
		return nil
	}
	if ref == nil && len(cur.row.models) == maxModels {
		return fmt.Errorf("set vector of too many models: %w", index.ErrDocument)
	}
	if err := w.fixDim(modelKey{tenant: v.Tenant, model: v.Model}, len(v.Values)); err != nil {
		return err
	}
	if ref != nil {
		ref.seq = v.Seq
	} else {
		cur.row.models = append(cur.row.models, modelRef{name: v.Model, seq: v.Seq})
	}
	if cur.vectors == nil {
		cur.vectors = map[string][]float32{}
	}
	cur.vectors[v.Model] = slices.Clone(v.Values)
	cur.changed = true
	return nil
}

// fixDim compares dim with the dimension of the model, or makes it so.
func (w *Writer) fixDim(k modelKey, dim int) error {
	known, ok := w.dims[k]
	if !ok {
		err := w.get(w.ix.dimKey(nil, k.tenant, k.model), func(value []byte) (err error) {
			known, err = parseDim(value)
			return err
		})
		if err != nil {
			return err
		}
		if known == 0 {
			known = dim
			w.newDims = append(w.newDims, k)
		}
		w.dims[k] = known
	}
	if known != dim {
		return fmt.Errorf("compare dimensions: %w", index.ErrVectorDim)
	}
	return nil
}

// Update changes the fields of a document that u gives. It is dropped when the subject has no such document, or when the
// document or its last update has a greater Seq. Errors are those of [index.Update.Validate].
func (w *Writer) Update(u index.Update) error {
	if err := w.check(u.Validate()); err != nil {
		return fmt.Errorf("update document: %w", err)
	}
	e, err := w.entry(u.Tenant, u.ID)
	if err != nil {
		return err
	}
	cur := e.cur
	if cur == nil || cur.loc.subject != u.Subject || u.Seq < cur.row.updated {
		return nil
	}
	cur.row.updated = u.Seq
	set(&cur.row.validFrom, u.ValidFromUS)
	set(&cur.row.validTo, u.ValidToUS)
	set(&cur.row.expires, u.ExpiresUS)
	set(&cur.row.trust, u.Trust)
	if u.Origins != nil {
		cur.row.origins = slices.Clone(*u.Origins)
	}
	cur.changed = true
	return nil
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Remove removes a document with its terms and vectors. It does nothing when the subject has no such document. Errors are
// those of [index.Removal.Validate].
func (w *Writer) Remove(tenant, subject, id string) error {
	rm := index.Removal{Tenant: tenant, Subject: subject, ID: id}
	if err := w.check(rm.Validate()); err != nil {
		return fmt.Errorf("remove document: %w", err)
	}
	e, err := w.entry(tenant, id)
	if err != nil {
		return err
	}
	if e.cur != nil && e.cur.loc.subject == subject {
		e.cur = nil
	}
	return nil
}

// RemoveSubject removes the documents of a subject: those put in this batch, and up to 256 stored ones in each call. As long
// as more is true, the caller calls again, on this Writer or on one over the state after this one's batch. Errors are
// those of [index.SubjectRemoval.Validate].
func (w *Writer) RemoveSubject(tenant, subject string) (more bool, err error) {
	rm := index.SubjectRemoval{Tenant: tenant, Subject: subject}
	if err := w.check(rm.Validate()); err != nil {
		return false, fmt.Errorf("remove subject: %w", err)
	}
	ids, more, err := w.storedIDs(subjectKey{tenant: tenant, subject: subject})
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		e, err := w.entry(tenant, id)
		if err != nil {
			return false, err
		}
		if e.stored == nil || e.stored.subject != subject {
			return false, fmt.Errorf("remove subject: follow id row: %w", index.ErrCorrupt) // its rows would stay
		}
	}
	for _, e := range w.order {
		if e.tenant == tenant && e.cur != nil && e.cur.loc.subject == subject {
			e.cur = nil
		}
	}
	return more, nil
}

// check refuses what did not validate and what comes too late.
func (w *Writer) check(invalid error) error {
	if w.flushed {
		return ErrFlushed
	}
	return invalid
}
