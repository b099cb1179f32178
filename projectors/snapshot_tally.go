package projectors

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Tally is how many records the views keep of a subject.
type Tally struct {
	// Facts are with candidates.
	Episodes, Facts int
	// EpisodesAt and FactsAt are the positions up to which the log is in these
	// numbers: each view stands at its own.
	EpisodesAt, FactsAt uint64
}

// Tally counts what is kept of a subject. Counted is false if the subject is
// forgotten in any view.
func (s *Snapshot) Tally(tenant, sid string) (t Tally, counted bool, err error) {
	if s.SubjectForgotten(tenant, sid) {
		return Tally{}, false, nil
	}
	for _, view := range []struct {
		reader pebble.Reader
		take   func(sum *subjectSum, position uint64)
	}{
		{s.memories, func(sum *subjectSum, position uint64) { t.Episodes, t.EpisodesAt = int(sum.episodes), position }}, //nolint:gosec // a count.
		{s.facts, func(sum *subjectSum, position uint64) { t.Facts, t.FactsAt = int(sum.facts), position }},             //nolint:gosec // a count.
	} {
		state, err := readState(view.reader)
		if err != nil {
			return Tally{}, false, err
		}
		sum := &subjectSum{}
		_, err = get(view.reader, sumKey(tenant, sid), func(value []byte) (err error) {
			sum, err = decodeSum(value)
			return err
		})
		if err != nil {
			return Tally{}, false, fmt.Errorf("count records: %w", err)
		}
		view.take(sum, state.position)
	}
	return t, true, nil
}
