package policy

import (
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// Input is all that a policy may look at. Nothing of it names a subject.
type Input struct {
	Predicate  string
	Category   string
	Scope      string
	Confidence float64
	// Trust is the lowest of the caller's, the sources' and the context's.
	Trust events.Trust
	// Context is the lowest trust of what the candidate may have been made from by
	// way of a recall; zero for nothing.
	Context events.Trust
	// Traces is the number of those recalls.
	Traces int
	Guard  events.Guard
	// Evidence is what the log said of the sources.
	Evidence []events.EvidenceBasis
	// Consent is [events.ConsentGiven], [events.ConsentTakenBack] or "".
	Consent string
	// Conflict is the reason of the place in the slot.
	Conflict string
	Reviews  []events.ReviewBasis
	// At is the time of the decision.
	At time.Time
}

// NewInput is the input of a decision, from what the log has of it.
func NewInput(proposed events.FactProposed, content events.FactContent, basis events.Basis) Input {
	in := Input{
		Predicate: content.Predicate, Category: token.CategoryName(content.Category), Scope: content.Scope,
		Confidence: proposed.Confidence, Trust: proposed.Trust, Context: basis.Context,
		Traces: len(proposed.Traces), Guard: basis.Guard, Evidence: basis.Evidence,
		Consent: basis.Consent, Conflict: basis.Conflict, Reviews: basis.Reviews, At: basis.At,
	}
	if in.Guard.IsZero() {
		in.Guard = proposed.Guard
	}
	if in.Context != 0 {
		in.Trust = min(in.Trust, in.Context)
	}
	return in
}

// living is the number of sources that can be believed, and of those who
// captured them.
func (in *Input) living() (sources, principals int) {
	seen := make(map[string]struct{}, len(in.Evidence))
	for _, e := range in.Evidence {
		if !e.Found || e.Forgotten || e.Other {
			continue
		}
		sources++
		if e.Principal != "" {
			seen[e.Principal] = struct{}{}
		}
	}
	return sources, len(seen)
}

// isTooLarge reports whether it is larger than a request can make it.
func (in *Input) isTooLarge() bool {
	for _, s := range []string{in.Predicate, in.Category, in.Scope, in.Conflict} {
		if len(s) > maxString {
			return true
		}
	}
	if len(in.Evidence) > maxList || len(in.Reviews) > maxList || scanIsTooLarge(&in.Guard) {
		return true
	}
	for i := range in.Evidence {
		if scanIsTooLarge(&in.Evidence[i].Guard) {
			return true
		}
	}
	return false
}

func scanIsTooLarge(g *events.Guard) bool { return len(g.Hits) > maxList || len(g.Personal) > maxList }
