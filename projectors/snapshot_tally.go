package projectors

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Tally is how many records the views keep of a subject.
type Tally struct {
	// Episodes and Facts, candidates included, are counted by their rows.
	Episodes, Facts int
	// EpisodesAt and FactsAt are the positions up to which the log is in these
	// numbers: each view stands at its own.
	EpisodesAt, FactsAt uint64
}

// Tally counts what is kept of a subject. Counted is false if the subject is
// forgotten in any view: its rows may be half gone then.
func (s *Snapshot) Tally(tenant, sid string) (t Tally, counted bool, err error) {
	if s.SubjectForgotten(tenant, sid) {
		return Tally{}, false, nil
	}
	for _, view := range []struct {
		reader pebble.Reader
		prefix key
		n      *int
		at     *uint64
	}{
		{s.memories, newKey(sortEpisode).part(tenant).part(sid), &t.Episodes, &t.EpisodesAt},
		{s.facts, factsOf(tenant, sid), &t.Facts, &t.FactsAt},
	} {
		state, err := readState(view.reader)
		if err != nil {
			return Tally{}, false, err
		}
		*view.at = state.position
		err = scan(view.reader, view.prefix, nil, func([]byte, []byte) (bool, error) {
			*view.n++
			return true, nil
		})
		if err != nil {
			return Tally{}, false, fmt.Errorf("count records: %w", err)
		}
	}
	return t, true, nil
}
