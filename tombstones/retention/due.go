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

// rules are a schedule by the tokens of one tenant, and what the tenant says of
// what is no fact.
type rules struct {
	byClass map[string]rule
	other   rule
	grace   Period

	unsettled   Unsettled
	unsettledBy map[string]unsettledRule
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
	// period is the one that is over, as it is written.
	period string
}

// over notes that a period is over, unless another one was before.
func (v *verdict) over(p Period, start, at time.Time) bool {
	if !v.due && p.Over(start, at) {
		v.due, v.period = true, p.String()
		return true
	}
	return false
}

// judge says whether the time of a memory is over.
func (r *rules) judge(m *Memory, at time.Time) verdict {
	use, ok := r.byClass[m.Class]
	if !ok {
		use = r.other
	}
	v := verdict{category: use.category, cause: events.CauseRetention}
	if m.Kind == events.KindEpisode {
		v.kind = kindEpisode
		v.over(use.Episodes, m.RecordedAt, at)
		return v
	}
	switch m.Status {
	case events.StatusCandidate, events.StatusRejected:
		v.kind = kindCandidate
		if !v.over(use.Candidates, m.RecordedAt, at) {
			r.judgeUnsettled(m, &v, at)
		}
	case events.StatusActive, events.StatusSuperseded, events.StatusRetracted:
		v.kind = kindFact
		if !v.over(use.Facts, m.ChangedAt, at) && !m.ExpiresAt.IsZero() && v.over(r.grace, m.ExpiresAt, at) {
			v.cause = events.CauseExpiry
		}
	case events.StatusMerged, events.StatusDeleted: // the one goes with another, the other is gone
	}
	return v
}

// judgeUnsettled says whether a candidate is over by what the tenant says.
func (r *rules) judgeUnsettled(m *Memory, v *verdict, at time.Time) {
	use, ok := r.unsettledBy[m.Class]
	if !ok {
		use = unsettledRule{r.unsettled, v.category}
	}
	start := m.RecordedAt
	if m.Reopened {
		start = m.ChangedAt
	}
	if v.over(use.of(m), start, at) {
		v.category = use.category
	}
}
