package projectors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// Fact returns a fact by its id. [events.ErrNotFound] if there is none, or if its subject is forgotten in any view; a deleted or
// masked one, value-free, with [events.StatusDeleted].
func (s *Snapshot) Fact(tenant, id string) (FactRow, error) {
	place, err := s.factPlace(tenant, id)
	if err != nil {
		return FactRow{}, err
	}
	if s.SubjectForgotten(tenant, place.sid) {
		return FactRow{}, events.ErrNotFound
	}
	if place.dead {
		t, err := s.tombOf(tombKey(tenant, place.sid, kindFact, id))
		if err != nil {
			return FactRow{}, err
		}
		return deletedFact(tenant, t), nil
	}
	stored, err := s.storedFact(tenant, place.sid, place.slot, place.order)
	if err != nil {
		return FactRow{}, err
	}
	if stored.masked {
		return deletedFact(tenant, Tombstone{Subject: place.sid, ID: id}), nil
	}
	return FactRow{Tenant: tenant, Slot: place.slot, SlotFact: stored.fact}, nil
}

// deletedFact is what is shown of a fact that is forgotten.
func deletedFact(tenant string, t Tombstone) FactRow {
	row := FactRow{Tenant: tenant}
	row.FactProposed = events.FactProposed{Fact: t.ID, Subject: t.Subject}
	row.Status, row.Erasure = events.StatusDeleted, t.Erasure
	row.ChangedAt, row.ChangedTime = t.Position, t.RecordedAt
	return row
}

// tombOf reads a tombstone from the facts.
func (s *Snapshot) tombOf(k key) (t Tombstone, err error) {
	found, err := get(s.facts, k, func(value []byte) error {
		t, err = decodeTomb(k, value)
		return err
	})
	if err == nil && !found {
		err = errRow(sortTomb)
	}
	return t, err
}

func (s *Snapshot) factPlace(tenant, id string) (place factPlace, err error) {
	found, err := get(s.facts, idKey(tenant, kindFact, id), func(value []byte) error {
		place, err = decodeFactPlace(value)
		return err
	})
	if err == nil && !found {
		err = events.ErrNotFound
	}
	return place, err
}

func (s *Snapshot) storedFact(tenant, sid, slot string, o order) (stored storedFact, err error) {
	found, err := get(s.facts, factKey(tenant, sid, slot, o), func(value []byte) error {
		d := decoder{b: value}
		stored.decode(&d)
		return d.err()
	})
	if err == nil && !found {
		err = errRow(sortFact)
	}
	return stored, err
}

// slotSubject returns the subject of a slot, "" if the slot is empty or its subject is forgotten.
func (s *Snapshot) slotSubject(tenant, slot string) (sid string, err error) {
	found, err := get(s.facts, slotRowKey(tenant, slot), func(value []byte) error {
		sid = string(value)
		return nil
	})
	if err != nil || !found {
		return "", err
	}
	if gone, err := has(s.facts, subjectTombKey(tenant, sid)); gone || err != nil {
		return "", err
	}
	return sid, nil
}

// slotFacts returns the facts of a slot in the order of their proposal, without those that are masked.
func (s *Snapshot) slotFacts(tenant, sid, slot string) ([]placedFact, error) {
	prefix := factsOf(tenant, sid).part(slot)
	var list []placedFact
	err := scan(s.facts, prefix, nil, func(k, value []byte) (bool, error) {
		o, ok := cutOrder(k[len(prefix):])
		if !ok {
			return false, errRow(sortFact)
		}
		p := placedFact{order: o}
		d := decoder{b: value}
		p.decode(&d)
		if !p.masked {
			list = append(list, p)
		}
		return true, d.err()
	})
	return list, err
}

type placedFact struct {
	storedFact
	order order
}

// SlotRevisions returns all revisions of all facts of a slot that are neither deleted nor masked, in the order in which they
// were recorded. An unknown slot has none.
func (s *Snapshot) SlotRevisions(tenant, slot string) ([]Revision, error) {
	sid, err := s.slotSubject(tenant, slot)
	if err != nil || sid == "" {
		return nil, err
	}
	facts, err := s.slotFacts(tenant, sid, slot)
	if err != nil {
		return nil, err
	}
	var list []Revision
	for i := range facts {
		revisions, err := s.revisions(tenant, sid, slot, facts[i].order)
		if err != nil {
			return nil, err
		}
		list = append(list, revisions...)
	}
	slices.SortStableFunc(list, func(a, b Revision) int {
		return cmp.Or(a.RecordedFrom.Compare(b.RecordedFrom), cmp.Compare(a.Position, b.Position))
	})
	return list, nil
}

// revisions returns those of one fact, oldest first.
func (s *Snapshot) revisions(tenant, sid, slot string, o order) ([]Revision, error) {
	prefix := newKey(sortRevision).part(tenant).part(sid).part(slot).order(o)
	var list []Revision
	err := scan(s.facts, prefix, nil, func(k, value []byte) (bool, error) {
		position, ok := cutPosition(k[len(prefix):])
		if !ok {
			return false, errRow(sortRevision)
		}
		r, err := decodeRevision(value, position)
		list = append(list, r)
		return true, err
	})
	return list, err
}

// Facts returns one page of a subject's facts, slot by slot and oldest proposal first, and the cursor of the next page, empty
// if there is none. It is stable while facts are written.
func (s *Snapshot) Facts(tenant string, f FactFilter) (rows []FactAt, next string, err error) {
	if f.Subject == "" {
		return nil, "", fmt.Errorf("read facts: subject: %w", ErrFilter)
	}
	if gone, err := has(s.facts, subjectTombKey(tenant, f.Subject)); gone || err != nil {
		return nil, "", err
	}
	q := factQuery{s: s, tenant: tenant, f: &f, limit: pageLimit(f.Limit), at: f.Now}
	if f.ValidAt != nil {
		q.at = *f.ValidAt
	}
	sources, err := s.Sources(tenant)
	if err != nil {
		return nil, "", err
	}
	if q.current = sources.Now(); !f.History && (f.ValidAt != nil || f.KnownAt != nil) {
		q.current = sources.At(q.at, f.KnownAt)
	}
	// A slot whose facts have all ended has no row for current reads, though some were true at an earlier time.
	if !f.History && f.KnownAt == nil && f.ValidAt == nil {
		return q.now()
	}
	return q.all()
}

type factQuery struct {
	s      *Snapshot
	tenant string
	f      *FactFilter
	limit  int
	at     time.Time
	// current is by the sources.
	current Currency
	rows    []FactAt
}

func (q *factQuery) bounds(sort byte) (prefix, from []byte, err error) {
	prefix = newKey(sort).part(q.tenant).part(q.f.Subject)
	from, err = cursorUnder(q.f.After, prefix)
	return prefix, from, err
}

// now reads the rows that hold what current reads need. A slot that changed after the asked time is read in full.
func (q *factQuery) now() (rows []FactAt, next string, err error) {
	prefix, from, err := q.bounds(sortNow)
	if err != nil {
		return nil, "", err
	}
	subject := newKey(sortNow).part(q.tenant).part(q.f.Subject)
	err = scan(q.s.facts, prefix, from, func(k, value []byte) (bool, error) {
		if len(q.rows) >= q.limit {
			next = cursor(k)
			return false, nil
		}
		slot, _, ok := cutPart(k[len(subject):])
		if !ok {
			return false, errRow(sortNow)
		}
		d := decoder{b: value}
		if since := d.time(); since.After(q.at) {
			facts, err := q.s.slotFacts(q.tenant, q.f.Subject, slot)
			if err != nil {
				return false, err
			}
			for i := range facts {
				q.offer(slot, &facts[i].storedFact)
			}
			return true, nil
		}
		for !d.bad && len(d.b) > 0 {
			var stored storedFact
			stored.decode(&d)
			if !d.bad {
				q.offer(slot, &stored)
			}
		}
		return true, d.err()
	})
	return q.rows, next, err
}

// offer takes a fact as it is known now if it passes.
func (q *factQuery) offer(slot string, stored *storedFact) {
	q.take(slot, &stored.fact, openRevision(stored))
}

// take takes a fact as a revision shows it if it passes.
func (q *factQuery) take(slot string, fact *events.SlotFact, r Revision) {
	if !q.passes(fact, &r) {
		return
	}
	row := FactAt{FactRow: FactRow{Tenant: q.tenant, Slot: slot, SlotFact: *fact}, Revision: r}
	row.Valid, row.Status = r.Valid, r.Status
	row.Retired = !q.current.Fact(fact)
	if row.Retired && !q.f.History {
		return
	}
	q.rows = append(q.rows, row)
}

func (q *factQuery) passes(fact *events.SlotFact, r *Revision) bool {
	f := q.f
	if (f.Predicate != "" && f.Predicate != fact.Predicate) || (f.Scope != "" && f.Scope != fact.Scope) ||
		(f.Category != "" && f.Category != fact.Category) {
		return false
	}
	trueAt := slices.ContainsFunc(r.Valid, func(iv events.Interval) bool { return iv.Contains(q.at) })
	if !f.History {
		return trueAt && (fact.ExpiresAt.IsZero() || fact.ExpiresAt.After(f.Now))
	}
	switch r.Status {
	case events.StatusActive, events.StatusSuperseded, events.StatusRetracted:
		return f.ValidAt == nil || trueAt
	case events.StatusCandidate, events.StatusRejected, events.StatusMerged, events.StatusDeleted:
	}
	return false
}

// all reads every fact of the subject, as known at the asked time.
func (q *factQuery) all() (rows []FactAt, next string, err error) {
	prefix, from, err := q.bounds(sortFact)
	if err != nil {
		return nil, "", err
	}
	subject := factsOf(q.tenant, q.f.Subject)
	err = scan(q.s.facts, prefix, from, func(k, value []byte) (bool, error) {
		if len(q.rows) >= q.limit {
			next = cursor(k)
			return false, nil
		}
		slot, rest, ok := cutPart(k[len(subject):])
		if !ok {
			return false, errRow(sortFact)
		}
		o, ok := cutOrder(rest)
		if !ok {
			return false, errRow(sortFact)
		}
		var stored storedFact
		d := decoder{b: value}
		stored.decode(&d)
		if err := d.err(); err != nil || stored.masked {
			return true, err
		}
		if q.f.KnownAt == nil {
			q.offer(slot, &stored)
			return true, nil
		}
		r, found, err := q.s.revisionAt(q.tenant, q.f.Subject, slot, o, *q.f.KnownAt)
		if err == nil && found {
			q.take(slot, &stored.fact, r)
		}
		return true, err
	})
	return q.rows, next, err
}

// FactRevision returns the revision of a fact that was known at a time, the last one if known is nil. found is false if there
// was none yet, or if the fact is deleted, masked or not there.
func (s *Snapshot) FactRevision(tenant, id string, known *time.Time) (r Revision, found bool, err error) {
	place, err := s.factPlace(tenant, id)
	if errors.Is(err, events.ErrNotFound) || err == nil && place.dead {
		return Revision{}, false, nil
	}
	if err != nil {
		return Revision{}, false, err
	}
	if gone, err := has(s.facts, subjectTombKey(tenant, place.sid)); gone || err != nil {
		return Revision{}, false, err
	}
	stored, err := s.storedFact(tenant, place.sid, place.slot, place.order)
	if err != nil || stored.masked {
		return Revision{}, false, err
	}
	if known != nil {
		return s.revisionAt(tenant, place.sid, place.slot, place.order, *known)
	}
	return openRevision(&stored), true, nil
}

// openRevision is the last revision of a fact, which the fact's own row holds.
func openRevision(stored *storedFact) Revision {
	return Revision{
		Fact: stored.fact.Fact, Valid: stored.fact.Valid, Status: stored.fact.Status,
		RecordedFrom: stored.since, Position: stored.revision,
	}
}

// revisionAt returns the revision of a fact that was known at a time.
func (s *Snapshot) revisionAt(tenant, sid, slot string, o order, t time.Time) (Revision, bool, error) {
	list, err := s.revisions(tenant, sid, slot, o)
	if err != nil {
		return Revision{}, false, err
	}
	for _, r := range slices.Backward(list) {
		if !r.RecordedFrom.After(t) {
			return r, true, nil
		}
	}
	return Revision{}, false, nil
}

// FactsBySource returns the facts taken from an episode, those that are masked too, oldest proposal of each slot first.
// Facts that lost the episode as a source, and deleted ones, are no longer among them.
func (s *Snapshot) FactsBySource(tenant, episode string) ([]FactRow, error) {
	return s.lineage(tenant, newKey(sortFromEpisode).part(tenant).part(episode))
}

// FactsBySourceSubject returns the facts, of any subject, taken from episodes of a subject, those that are masked too.
func (s *Snapshot) FactsBySourceSubject(tenant, sid string) ([]FactRow, error) {
	return s.lineage(tenant, newKey(sortFromSubject).part(tenant).part(sid))
}

func (s *Snapshot) lineage(tenant string, prefix key) ([]FactRow, error) {
	var list []FactRow
	err := scan(s.facts, prefix, nil, func(k, value []byte) (bool, error) {
		slot, rest, ok := cutPart(k[len(prefix):])
		if !ok {
			return false, errRow(k[0])
		}
		o, ok := cutOrder(rest)
		if !ok {
			return false, errRow(k[0])
		}
		if gone, err := has(s.facts, subjectTombKey(tenant, string(value))); gone || err != nil {
			return true, err
		}
		stored, err := s.storedFact(tenant, string(value), slot, o)
		if err != nil {
			return false, err
		}
		row := FactRow{Tenant: tenant, Slot: slot, SlotFact: stored.fact, Masked: stored.masked}
		if row.Masked {
			row.Content, row.Retraction = nil, nil
		}
		list = append(list, row)
		return true, nil
	})
	return list, err
}
