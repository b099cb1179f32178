package producers

import (
	"slices"

	"github.com/annals-memory/annals/events"
)

// isStale says whether another fact is true where the candidate begins than the one
// that its caller takes to be.
func (p *proposal) isStale(f events.FactProposed) bool {
	if p.supersedes == "" {
		return false
	}
	from := f.ValidFrom
	if from.IsZero() {
		from = f.ObservedAt
	}
	current := p.slot.At(from)
	return current == nil || current.Fact != p.supersedes
}

func (p *proposal) conflict() error {
	return &events.ConflictError{Aggregate: p.slot.aggregate, Actual: p.slot.Position}
}

// wasStale says whether the gates rejected a candidate for what it was to
// supersede.
func wasStale(gates []events.Gate) bool {
	return slices.ContainsFunc(gates, func(g events.Gate) bool { return g.Reason == ReasonStaleVersion })
}
