package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// absent tells why an episode that no view has is not there. ErrForgotten is for
// one with a tombstone of its own, and for one that came into the log behind the
// tombstone of its subject: somebody was told that it is there. Anything else is
// ErrNotFound, and so is what a legal hold hides.
func (s *Service) absent(ctx context.Context, r *reading, id string) error {
	last, err := s.log.Last(ctx, events.Aggregate{Tenant: r.token, Kind: events.KindEpisode, ID: id})
	if errors.Is(err, events.ErrNoCommits) {
		return events.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("read episode: %w", err)
	}
	for _, e := range last.Events {
		switch e := e.(type) {
		case events.EpisodeForgotten:
			if !r.snap.Held(r.token, e.Subject) {
				return events.ErrForgotten
			}
		case events.EpisodeCaptured:
			subject, err := events.ReadSubject(ctx, s.log, r.token, e.Subject)
			if err != nil {
				return fmt.Errorf("read subject: %w", err)
			}
			if subject.Erasure != "" && last.Position > subject.Tombstone && len(subject.Holds) == 0 {
				return events.ErrForgotten
			}
		default:
		}
	}
	return events.ErrNotFound
}
