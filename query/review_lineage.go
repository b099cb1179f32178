package query

import (
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
)

// DecisionLineage is what a fact has its state from: the last decision on it, gate
// by gate, the policy that decided, and the reviews that stand. Reviewers are named
// by their tokens, and their notes are not here.
type DecisionLineage struct {
	Decision events.Decision  `json:"decision"`
	Gates    []events.Gate    `json:"gates"`
	Policy   events.PolicyRef `json:"policy"`
	Reviews  []ReviewSaid     `json:"reviews"`
	// Edits is the candidate that this one took the place of.
	Edits string `json:"edits,omitempty"`
}

func decisionOf(row *projectors.FactRow) *DecisionLineage {
	d := &DecisionLineage{
		Decision: row.Decision.Decision, Gates: row.Decision.Gates, Policy: row.Decision.Policy, Edits: row.Edits,
		Reviews: []ReviewSaid{},
	}
	if d.Gates == nil {
		d.Gates = []events.Gate{}
	}
	for _, r := range row.Standing() {
		d.Reviews = append(d.Reviews, ReviewSaid{
			Reviewer: r.Reviewer, Verdict: r.Verdict, At: events.At(r.RecordedAt), Standing: true,
		})
	}
	return d
}

// reopen takes out what a review had brought about that was taken back.
func (h *slotHistory) reopen(reopened, fact string) {
	if reopened == fact {
		h.supersedes, h.mergedInto = nil, nil
		return
	}
	is := func(id string) bool { return id == reopened }
	h.supersededBy, h.mergedFrom = slices.DeleteFunc(h.supersededBy, is), slices.DeleteFunc(h.mergedFrom, is)
}
