package retention

import (
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// The kinds of memories, as a preview names them.
const (
	kindEpisode   = "episode"
	kindFact      = "fact"
	kindCandidate = "candidate"
)

// rules are a schedule by the tokens of one tenant.
type rules struct {
	byClass map[string]rule
	other   rule
	grace   Period
}

// rule is how long the memories of a category are kept.
type rule struct {
	Periods

	category string
}

func (s *Schedule) rules(h token.Hasher) *rules {
	r := &rules{
		byClass: make(map[string]rule, len(s.Categories)), other: rule{Periods: Periods{s.Default, s.Default, s.Default}},
		grace: s.ExpiryGrace,
	}
	for name, p := range s.Categories {
		r.byClass[token.Category(h, name)] = rule{p, name}
	}
	return r
}

// verdict is what became of a memory by a time.
type verdict struct {
	category string
	kind     string
	cause    events.Cause
	due      bool
}

// judge says whether the time of a memory is over.
func (r *rules) judge(m *Memory, at time.Time) verdict {
	use, ok := r.byClass[m.Class]
	if !ok {
		use = r.other
	}
	v := verdict{category: use.category, cause: events.CauseRetention}
	if m.Kind == events.KindEpisode {
		v.kind, v.due = kindEpisode, use.Episodes.Over(m.RecordedAt, at)
		return v
	}
	switch m.Status {
	case events.StatusCandidate, events.StatusRejected:
		v.kind, v.due = kindCandidate, use.Candidates.Over(m.RecordedAt, at)
	case events.StatusActive, events.StatusSuperseded, events.StatusRetracted:
		v.kind, v.due = kindFact, use.Facts.Over(m.ChangedAt, at)
		if !v.due && !m.ExpiresAt.IsZero() && r.grace.Over(m.ExpiresAt, at) {
			v.cause, v.due = events.CauseExpiry, true
		}
	case events.StatusMerged, events.StatusDeleted: // the one goes with another, the other is gone
	}
	return v
}
