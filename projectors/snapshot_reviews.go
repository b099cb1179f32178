package projectors

import (
	"github.com/annals-memory/annals/events"
)

// Reviews returns one page of the candidates whose decision is review or quarantine, oldest first, and the cursor of the
// next page, empty if there is none.
func (s *Snapshot) Reviews(tenant, after string, limit int) (rows []FactRow, next string, err error) {
	return s.reviews(sortReview, tenant, after, limit)
}

// Reviewed returns one page of all candidates that wait for a review, ever did, or were reviewed, whatever became of them,
// oldest first, and the cursor of the next page, empty if there is none. Those that are masked are left out, so that a page can
// be short.
func (s *Snapshot) Reviewed(tenant, after string, limit int) (rows []FactRow, next string, err error) {
	return s.reviews(sortReviewed, tenant, after, limit)
}

func (s *Snapshot) reviews(sort byte, tenant, after string, limit int) (rows []FactRow, next string, err error) {
	limit = pageLimit(limit)
	prefix := newKey(sort).part(tenant)
	from, err := cursorUnder(after, prefix)
	if err != nil {
		return nil, "", err
	}
	seen := 0
	err = scan(s.facts, prefix, from, func(k, value []byte) (bool, error) {
		if seen == limit {
			next = cursor(k)
			return false, nil
		}
		seen++
		o, ok := cutOrder(k[len(prefix):])
		if !ok {
			return false, errRow(sort)
		}
		sid, rest, ok := cutPart(value)
		if !ok {
			return false, errRow(sort)
		}
		slot, _, ok := cutPart(rest)
		if !ok {
			return false, errRow(sort)
		}
		if gone, err := has(s.facts, subjectTombKey(tenant, sid)); gone || err != nil {
			return true, err
		}
		stored, err := s.storedFact(tenant, sid, slot, o)
		if err != nil || stored.masked {
			return err == nil, err
		}
		rows = append(rows, FactRow{Tenant: tenant, Slot: slot, SlotFact: stored.fact})
		return true, nil
	})
	return rows, next, err
}

// SlotFacts returns the facts of a slot in the order of their proposal, without those that are masked. An unknown slot has
// none.
func (s *Snapshot) SlotFacts(tenant, slot string) ([]FactRow, error) {
	sid, err := s.slotSubject(tenant, slot)
	if err != nil || sid == "" {
		return nil, err
	}
	facts, err := s.slotFacts(tenant, sid, slot)
	if err != nil {
		return nil, err
	}
	rows := make([]FactRow, len(facts))
	for i := range facts {
		rows[i] = FactRow{Tenant: tenant, Slot: slot, SlotFact: facts[i].fact}
	}
	return rows, nil
}

// IsOpen reports whether a candidate waits for a review.
func (f *FactRow) IsOpen() bool {
	return f.Status == events.StatusCandidate && asksForReview(&f.SlotFact)
}
