package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// StatusExpired is how results say of a fact that its time is over: it was promoted
// with an end, or its expiry has come. In a slot it is active still.
const StatusExpired events.FactStatus = "expired"

// maxReplacements bounds the replacements that one result names.
const maxReplacements = 4

// Replacement is the fact that is true in place of one that no longer is.
type Replacement struct {
	Fact string `json:"fact"`
	// Text is the fact as a sentence, as if it had been recalled.
	Text  string         `json:"text"`
	Value jsontext.Value `json:"value"`
	// Since is when it became true.
	Since events.Time  `json:"since"`
	Trust events.Trust `json:"trust"`
}

// ending says that nothing of what a memory was the source of is true any more.
type ending struct {
	status events.FactStatus
	// slots are those of the facts that ended, the last change first.
	slots []endedSlot
	// replacements are what is true in these slots instead, once they were looked for.
	replacements []projectors.FactRow
}

// endedSlot is the slot of a fact that ended.
type endedSlot struct {
	sid, slot string
	status    events.FactStatus
	changed   uint64
}

// settle finds out whether the facts that a memory was the source of have ended, by
// the same times and the same rules by which those facts are shown themselves: one
// that the caller could not read counts for nothing, and one that holds, or is to
// hold, is enough. It reads the rows that lead from an episode to its facts, and
// one row for each of these until one holds.
func (q *search) settle(ctx context.Context, c *candidate) error {
	c.ended = nil
	var e ending
	if c.fact != nil { // only a history has one that ended
		if status := q.stands(&c.fact.SlotFact); status != events.StatusActive {
			e.add(status, c.fact)
			c.ended = &e
		}
		return nil
	}
	for f, err := range q.snap.Claims(q.token, c.ID, q.known) {
		if err != nil {
			return fmt.Errorf("read claims: %w", err)
		}
		status, err := q.claim(ctx, c, &f.FactRow)
		if err != nil {
			return err
		}
		if status == events.StatusActive {
			return nil
		}
		if status != "" {
			e.add(status, &f.FactRow)
		}
	}
	if len(e.slots) > 0 {
		c.ended = &e
	}
	return nil
}

// claim is how a fact stands that was taken from an episode, "" if the caller is not
// to know of it.
func (q *search) claim(ctx context.Context, c *candidate, row *projectors.FactRow) (events.FactStatus, error) {
	if q.snap.Held(q.token, row.Subject) || q.conceals(row) {
		return "", nil
	}
	if q.witness != nil {
		return q.witness.claim(ctx, q, c, row)
	}
	return q.stands(&row.SlotFact), nil
}

// stands is how a fact stands at the time asked about, "" if it was never promoted.
func (q *search) stands(f *events.SlotFact) events.FactStatus {
	switch f.Status {
	case events.StatusActive, events.StatusSuperseded, events.StatusRetracted:
	case events.StatusCandidate, events.StatusRejected, events.StatusMerged, events.StatusDeleted:
		return ""
	}
	lasts := func(iv events.Interval) bool { return iv.To.IsZero() || iv.To.After(q.at) }
	switch {
	case expired(f, q.now):
		return StatusExpired
	case !q.current.Fact(f):
		return StatusRetired
	case slices.ContainsFunc(f.Valid, lasts):
		return events.StatusActive
	case f.Status == events.StatusActive:
		return StatusExpired
	}
	return f.Status
}

func (e *ending) add(status events.FactStatus, row *projectors.FactRow) {
	e.slots = append(e.slots, endedSlot{sid: row.Subject, slot: row.Slot, status: status, changed: row.ChangedAt})
	slices.SortFunc(e.slots, func(a, b endedSlot) int {
		return cmp.Or(cmp.Compare(b.changed, a.changed), cmp.Compare(a.slot, b.slot))
	})
	if e.status = e.slots[0].status; slices.ContainsFunc(e.slots, func(s endedSlot) bool { return s.status == events.StatusSuperseded }) {
		e.status = events.StatusSuperseded
	}
}

// isNew reports whether one of the slots has not been told of, and remembers them.
func (e *ending) isNew(told map[string]bool) bool {
	isNew := false
	for _, s := range e.slots {
		isNew = isNew || !told[s.slot]
		told[s.slot] = true
	}
	return isNew
}

// replace looks for what is true in the slots that ended.
func (q *search) replace(ctx context.Context, e *ending) error {
	e.replacements = nil
	told := make(map[string]bool)
	for _, slot := range e.slots {
		if told[slot.slot] {
			continue
		}
		told[slot.slot] = true
		row, err := q.successor(ctx, slot)
		if err != nil {
			return err
		}
		if row != nil {
			e.replacements = append(e.replacements, *row)
		}
		if len(told) == maxReplacements {
			break
		}
	}
	return nil
}

// successor is the fact that is true in a slot, nil if there is none that the caller
// may read.
func (q *search) successor(ctx context.Context, e endedSlot) (*projectors.FactRow, error) {
	if q.snap.Held(q.token, e.sid) {
		return nil, nil //nolint:nilnil // The absence of a row is an answer.
	}
	if q.witness != nil {
		return q.witness.successor(ctx, q, e)
	}
	f, found, err := q.snap.InSlot(q.token, e.sid, e.slot, q.at, q.known)
	if err != nil {
		return nil, fmt.Errorf("read slot: %w", err)
	}
	if !found || q.stands(&f.SlotFact) != events.StatusActive || q.conceals(&f.FactRow) {
		return nil, nil //nolint:nilnil // As above.
	}
	return &f.FactRow, nil
}

// openReplacements opens what is true in place of the memories of a chunk, in the
// order of the chunk.
func (s *Service) openReplacements(ctx context.Context, q *search, chunk []ranked) ([][]byte, error) {
	var items []seal.Item
	for i := range chunk {
		e := chunk[i].ended
		if e == nil {
			continue
		}
		if err := q.replace(ctx, e); err != nil {
			return nil, err
		}
		for j := range e.replacements {
			items = append(items, factItem(&e.replacements[j]))
		}
	}
	return s.openAll(ctx, items)
}

// tell says in a result that what it says has ended, and what is true instead:
// nothing that was forgotten meanwhile, nor what is withheld from the caller. opened
// are the contents of the replacements.
func (s *Service) tell(q *search, fresh *projectors.Snapshot, e *ending, opened [][]byte, res *Result) error {
	res.Status = e.status
	for i := range e.replacements {
		row := &e.replacements[i]
		if opened[i] == nil {
			continue
		}
		still, err := aliveFact(fresh, q.token, row.Fact)
		if err != nil {
			return err
		}
		if still == nil {
			continue
		}
		content, err := parse[events.FactContent](opened[i])
		if err != nil {
			return err
		}
		if s.suspiciousFact(&row.SlotFact, &content) && !q.all {
			continue
		}
		v, _ := validity(row.Valid, q.at)
		res.SupersededBy = append(res.SupersededBy, Replacement{
			Fact: row.Fact, Text: factText(content), Value: content.Value, Since: events.At(v.From), Trust: row.Trust,
		})
	}
	if len(res.SupersededBy) > 0 && (e.status == StatusExpired || e.status == StatusRetired) {
		res.Status = events.StatusSuperseded
	}
	return nil
}

// former adds the best of those that were set aside: what they say has ended. They
// come after all that holds, whatever they have to do with the question, and one of
// them stands for all that say something else of the same.
func (s *Service) former(ctx context.Context, q *search, w Weights, results []Result, k int) ([]Result, error) {
	told := make(map[string]bool)
	var chunk []ranked
	for i := range q.aside {
		if len(results)+len(chunk) == k {
			break
		}
		c := q.aside[i]
		if !c.ended.isNew(told) {
			continue
		}
		before := c.score
		c.score *= w.Relevance * relevanceFloor // less than the least that anything relevant has
		c.demoted = &before
		chunk = append(chunk, c)
	}
	opened, err := s.openRanked(ctx, q, chunk)
	return append(results, opened...), err
}
