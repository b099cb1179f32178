package producers

import (
	"cmp"
	"slices"

	"github.com/annals-memory/annals/events"
)

// The limits of a simulation.
const (
	// MaxSamples is how many decisions are named of each kind of change.
	MaxSamples = 20
	// MaxSimulated is the most decisions that one simulation looks at, and
	// DefaultSimulated how many it does without a limit.
	MaxSimulated     = 100_000
	DefaultSimulated = 10_000
)

// SimulateRequest asks what a policy would have decided.
type SimulateRequest struct {
	// Text is the policy, as YAML; "" is the one in force.
	Text string `json:"text,omitempty"`
	// From and To bound what is looked at, both inclusive: a position of the log in
	// decimal, or a time as in RFC 3339. "" is the first and the last.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Limit is the most decisions to look at; 0 is DefaultSimulated.
	Limit int `json:"limit,omitzero"`
}

// Simulation is what a policy would have decided. Each decision stands for itself,
// on what was recorded of it: what would have followed from another one before it
// is not played through.
type Simulation struct {
	Policy PolicyVersion `json:"policy"`
	// From and To are the positions of the first and the last decision looked at; 0
	// if there was none.
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Decisions is the number of decisions in the range, those skipped included.
	Decisions int `json:"decisions"`
	// Truncated says that the limit was reached: what follows is behind To.
	Truncated bool `json:"truncated"`
	// Outcomes has one row for each pair of decisions that occurs, and Changed is
	// the number of decisions in rows where they differ.
	Outcomes []Outcome `json:"outcomes"`
	Changed  int       `json:"changed"`
	Skipped  Skipped   `json:"skipped"`
}

// Outcome counts decisions that were alike and would be alike.
type Outcome struct {
	Was     events.Decision `json:"was"`
	WouldBe events.Decision `json:"would_be"`
	Count   int             `json:"count"`
	// Samples are the first of those that would change.
	Samples []Sample `json:"samples"`
}

// Sample is one decision that would change.
type Sample struct {
	Candidate string `json:"candidate"`
	Position  uint64 `json:"position"`
	// Gate and Reason are of the first gate with the outcome that would win.
	Gate   string `json:"gate"`
	Reason string `json:"reason"`
}

// Skipped counts decisions that nothing can be said of.
type Skipped struct {
	// Forgotten: the candidate or its subject was.
	Forgotten int `json:"forgotten"`
	// Held: the subject is under a legal hold.
	Held int `json:"held"`
	// NoBasis: an earlier version did not record what was decided on.
	NoBasis int `json:"no_basis"`
}

// count adds a decision.
func (s *Simulation) count(was, wouldBe events.Decision, sample Sample) {
	i := slices.IndexFunc(s.Outcomes, func(o Outcome) bool { return o.Was == was && o.WouldBe == wouldBe })
	if i < 0 {
		i = len(s.Outcomes)
		s.Outcomes = append(s.Outcomes, Outcome{Was: was, WouldBe: wouldBe, Samples: []Sample{}})
	}
	o := &s.Outcomes[i]
	o.Count++
	if was == wouldBe {
		return
	}
	s.Changed++
	if len(o.Samples) < MaxSamples {
		o.Samples = append(o.Samples, sample)
	}
}

// sort puts the rows into an order that does not depend on the log's.
func (s *Simulation) sort() {
	slices.SortFunc(s.Outcomes, func(a, b Outcome) int {
		return cmp.Or(cmp.Compare(severity(a.Was), severity(b.Was)), cmp.Compare(severity(a.WouldBe), severity(b.WouldBe)))
	})
}
