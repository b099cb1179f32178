package projectors

import (
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// FactsOf returns one page of all facts of a subject, candidates included, in the order of their slots and of their proposal,
// and the cursor of the next page, empty if there is none. Masked facts and tombstones are left out. Without a subject it is
// the facts of the whole tenant.
func (s *Snapshot) FactsOf(tenant, sid, after string, limit int) (rows []FactRow, next string, err error) {
	limit = pageLimit(limit)
	all := newKey(sortFact).part(tenant)
	prefix := all
	if sid != "" {
		prefix = factsOf(tenant, sid)
	}
	from, err := cursorUnder(after, prefix)
	if err != nil {
		return nil, "", err
	}
	err = scan(s.facts, prefix, from, func(k, value []byte) (bool, error) {
		if len(rows) == limit {
			next = cursor(k)
			return false, nil
		}
		owner, rest, ok := cutPart(k[len(all):])
		if !ok {
			return false, errRow(sortFact)
		}
		if gone, err := has(s.facts, subjectTombKey(tenant, owner)); gone || err != nil {
			return true, err
		}
		slot, _, ok := cutPart(rest)
		if !ok {
			return false, errRow(sortFact)
		}
		var stored storedFact
		d := decoder{b: value}
		stored.decode(&d)
		if err := d.err(); err != nil || stored.masked {
			return true, err
		}
		rows = append(rows, FactRow{Tenant: tenant, Slot: slot, SlotFact: stored.fact})
		return true, nil
	})
	return rows, next, err
}

// FactRevisions returns all revisions of one fact, oldest first; none if it is deleted, masked or not there.
func (s *Snapshot) FactRevisions(tenant, id string) ([]Revision, error) {
	place, err := s.factPlace(tenant, id)
	if errors.Is(err, events.ErrNotFound) || err == nil && place.dead {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if gone, err := has(s.facts, subjectTombKey(tenant, place.sid)); gone || err != nil {
		return nil, err
	}
	stored, err := s.storedFact(tenant, place.sid, place.slot, place.order)
	if err != nil || stored.masked {
		return nil, err
	}
	return s.revisions(tenant, place.sid, place.slot, place.order)
}

// Traces returns one page of the traces of a tenant in the order of their ids, and the cursor of the next page, empty if
// there is none. Traces of forgotten subjects are left out.
func (s *Snapshot) Traces(tenant, after string, limit int) (rows []TraceRow, next string, err error) {
	limit = pageLimit(limit)
	prefix := newKey(sortTrace).part(tenant)
	from, err := cursorUnder(after, prefix)
	if err != nil {
		return nil, "", err
	}
	err = scan(s.traces, prefix, from, func(k, value []byte) (bool, error) {
		if len(rows) == limit {
			next = cursor(k)
			return false, nil
		}
		st := newTraceState()
		if err := decodeTrace(value, st); err != nil {
			return false, err
		}
		if st.Subject != "" {
			if gone, err := has(s.traces, subjectTombKey(tenant, st.Subject)); gone || err != nil {
				return true, err
			}
		}
		st.Tenant = tenant
		rows = append(rows, st.TraceRow)
		return true, nil
	})
	return rows, next, err
}

// Owner returns the subject of an episode or a fact that is kept, "" if there is none of that id.
func (s *Snapshot) Owner(tenant, id string) (sid string, err error) {
	e, err := s.episodePlace(tenant, id)
	switch {
	case err == nil && !e.dead && !s.SubjectForgotten(tenant, e.sid):
		return e.sid, nil
	case err != nil && !errors.Is(err, events.ErrNotFound):
		return "", err
	}
	f, err := s.factPlace(tenant, id)
	switch {
	case errors.Is(err, events.ErrNotFound), err == nil && f.dead:
		return "", nil
	case err != nil:
		return "", err
	case s.SubjectForgotten(tenant, f.sid):
		return "", nil
	}
	return f.sid, nil
}

// Erased returns how many episodes and facts of a subject have a tombstone of their own, none once it has one itself.
func (s *Snapshot) Erased(tenant, sid string) (episodes, facts int, err error) {
	if gone, err := has(s.memories, subjectTombKey(tenant, sid)); gone || err != nil {
		return 0, 0, err
	}
	for kind, n := range map[byte]*int{kindEpisode: &episodes, kindFact: &facts} {
		prefix := newKey(sortTomb).part(tenant).part(sid).byte(kind)
		if err := scan(s.memories, prefix, nil, func([]byte, []byte) (bool, error) {
			*n++
			return true, nil
		}); err != nil {
			return 0, 0, fmt.Errorf("count tombstones: %w", err)
		}
	}
	return episodes, facts, nil
}
