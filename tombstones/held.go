package tombstones

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// askHolds asks the log itself about legal holds on the subjects that a cascade has
// reached: the views may not have one yet that another process has put on.
func (s *saga) askHolds(ctx context.Context, graves []ledger.Tombstone) error {
	for _, g := range graves {
		if _, asked := s.holds[g.Subject]; asked || g.Subject == s.subject {
			continue
		}
		state, err := events.ReadSubject(ctx, s.log, s.job.token, g.Subject)
		if err != nil {
			return fmt.Errorf("look for holds: %w", err)
		}
		if s.holds == nil {
			s.holds = make(map[string]bool)
		}
		s.holds[g.Subject] = len(state.Holds) > 0
	}
	return nil
}
