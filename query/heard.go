package query

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// shown is what an answer that is no recall shows of memories.
type shown struct {
	// subject is the id of the one that they are about.
	subject string
	ids     []string
	// lowest is their lowest trust.
	lowest events.Trust
}

func (s *shown) add(id string, trust events.Trust) {
	s.ids = append(s.ids, id)
	if s.lowest == 0 || trust < s.lowest {
		s.lowest = trust
	}
}

// heard keeps a trace of what an agent's channel was shown other than by a recall,
// if some of it is of lower trust than the agent: what the agent writes from it is
// worth no more, however it came to read it. All else leaves no trace, so that a
// read is one. If the subject was forgotten meanwhile the error is ErrForgotten.
func (s *Service) heard(ctx context.Context, caller events.Caller, r *reading, what *shown) error {
	if caller.Trust != events.TrustAgent || what.lowest == 0 || what.lowest >= caller.Trust {
		return nil
	}
	_, _, err := s.traces.RecordRecall(ctx, caller, Recalled{
		Subject: what.subject, Memories: what.ids, At: r.snap.Position(), Lowest: what.lowest,
	})
	if err != nil {
		return fmt.Errorf("record what was read: %w", err)
	}
	return nil
}

// heardEpisodes is heard of episodes of one subject.
func (s *Service) heardEpisodes(ctx context.Context, caller events.Caller, r *reading, subject string, list []Episode) error {
	what := shown{subject: subject}
	for i := range list {
		what.add(list[i].ID, list[i].Trust)
	}
	return s.heard(ctx, caller, r, &what)
}

// heardFacts is heard of facts of one subject.
func (s *Service) heardFacts(ctx context.Context, caller events.Caller, r *reading, subject string, list []Fact) error {
	what := shown{subject: subject}
	for i := range list {
		what.add(list[i].ID, list[i].Trust)
	}
	return s.heard(ctx, caller, r, &what)
}
