package projectors

import "github.com/annals-memory/annals/events"

// Two rows lead to what reviewers look at, in the order of proposal: one while a candidate waits, and one for good once it has
// waited or was reviewed. Their values say where the fact's own row is.

func reviewKey(tenant string, o order, fact string) key {
	return newKey(sortReview).part(tenant).order(o).part(fact)
}

func reviewedKey(tenant string, o order, fact string) key {
	return newKey(sortReviewed).part(tenant).order(o).part(fact)
}

// asksForReview reports whether the decision on a candidate leaves it to reviewers.
func asksForReview(f *events.SlotFact) bool {
	return f.Decision.Decision == events.DecisionReview || f.Decision.Decision == events.DecisionQuarantine
}

func (f *slotFold) writeReview(s *slotState, fs *factState) error {
	if !f.readRows {
		return nil
	}
	t, asks := s.key.tenant, asksForReview(fs.fact)
	place := append(newKey(0)[:0].part(s.sid), newKey(0)[:0].part(s.key.slot)...)
	if asks || len(fs.fact.Reviews) > 0 {
		if err := f.e.set(reviewedKey(t, fs.order, fs.fact.Fact), place); err != nil {
			return err
		}
	}
	k := reviewKey(t, fs.order, fs.fact.Fact)
	switch {
	case asks && fs.fact.Status == events.StatusCandidate && !fs.masked:
		return f.e.set(k, place)
	case asks, fs.fact.ChangedAt != fs.fact.ProposedAt:
		return f.e.unset(k)
	}
	return nil
}

// dropReview removes the rows that lead to a fact.
func (f *slotFold) dropReview(tenant string, o order, fact string) error {
	if !f.readRows {
		return nil
	}
	if err := f.e.unset(reviewKey(tenant, o, fact)); err != nil {
		return err
	}
	return f.e.unset(reviewedKey(tenant, o, fact))
}
