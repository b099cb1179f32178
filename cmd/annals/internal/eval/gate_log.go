package eval

import (
	"context"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

const (
	gateProvenance = producers.GateProvenance
	gateGuardrail  = producers.GateGuardrail
)

// decision is what the log says of one candidate.
type decision struct {
	// first was decided when it was proposed, by the gates.
	first events.Decision
	gates []events.Gate
	// promoted says that it became a fact or a source of one, and unreviewed that it
	// did so in a commit whose decision rests on no approval.
	promoted, unreviewed bool
}

// decisions are those of all candidates, by their ids.
type decisions map[string]*decision

// decided is what was decided by a position of the log.
type decided struct {
	decisions

	position uint64
}

// read folds the log as it stands. It takes no word of a view or of an answer for it:
// a promotion is what the log has.
func (all *decided) read(ctx context.Context, log events.Follower) error {
	state, err := log.State(ctx)
	if err != nil {
		return fmt.Errorf("read decisions: %w", err)
	}
	if state.Last <= all.position {
		return nil
	}
	for m, err := range log.Follow(ctx, all.position) {
		if err != nil {
			return fmt.Errorf("read decisions: %w", err)
		}
		r, err := events.Decode(m)
		if err != nil {
			return fmt.Errorf("read decisions: %w", err)
		}
		all.fold(r.Events)
		if all.position = m.Position; m.Position >= state.Last {
			break
		}
	}
	return nil
}

// fold enters the events of a commit.
func (all decisions) fold(commit []events.Event) {
	approved := map[string]bool{}
	for _, e := range commit {
		switch e := e.(type) {
		case events.FactDecided:
			d := all.of(e.Fact)
			if d.first == "" {
				d.first, d.gates = e.Decision, e.Gates
			}
			approved[e.Fact] = slices.ContainsFunc(e.Basis.Reviews, func(r events.ReviewBasis) bool { return r.Verdict == events.VerdictApprove })
			if e.Decision == events.DecisionPromote {
				all.promote(e.Fact, approved[e.Fact])
			}
		case events.FactPromoted:
			all.promote(e.Fact, approved[e.Fact])
		case events.FactCorroborated:
			all.promote(e.Candidate, approved[e.Candidate])
		default:
		}
	}
}

func (all decisions) promote(candidate string, approved bool) {
	d := all.of(candidate)
	d.promoted = true
	d.unreviewed = d.unreviewed || !approved
}

func (all decisions) of(candidate string) *decision {
	d := all[candidate]
	if d == nil {
		d = &decision{}
		all[candidate] = d
	}
	return d
}

// stoppedBy is the only gate that did not let the candidate through; "" if there were
// several, or none.
func (d *decision) stoppedBy() string {
	only := ""
	for _, g := range d.gates {
		if g.Outcome == events.DecisionPromote {
			continue
		}
		if only != "" {
			return ""
		}
		only = g.Gate
	}
	return only
}

// guarded says whether the gate guardrail, of itself, leaves it to a reviewer.
func (d *decision) guarded() bool {
	return slices.ContainsFunc(d.gates, func(g events.Gate) bool {
		return g.Gate == gateGuardrail && g.Outcome != events.DecisionReject
	})
}
