package backup

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// found is what one reading of a log finds.
type found struct {
	tombstones map[grave]bool
	// slots have facts that were taken from what is gone, each once.
	slots []events.Aggregate
	// holds are the subjects that ever had a legal hold.
	holds map[named]bool
	// changes are those of subjects behind a position.
	changes []ledger.SubjectChange
}

// survey reads the log once. The changes of subjects are those behind the common
// position.
func survey(ctx context.Context, log Log, common uint64, gone func(tenant string, src events.SourceRef) (string, bool)) (found, error) {
	f := found{tombstones: map[grave]bool{}, holds: map[named]bool{}}
	state, err := log.State(ctx)
	if err != nil {
		return f, fmt.Errorf("read state of the log: %w", err)
	}
	if state.Messages == 0 {
		return f, nil
	}
	wanted := map[string]bool{
		events.TypeEpisodeForgotten: true, events.TypeFactForgotten: true, events.TypeSubjectForgotten: true,
		events.TypeSubjectHeld: true, events.TypeFactProposed: true, events.TypeFactCorroborated: true,
		events.TypeSubjectReleased: true, events.TypeConsentGranted: true, events.TypeConsentWithdrawn: true,
	}
	slots := map[events.Aggregate]bool{}
	for m, err := range log.Follow(ctx, 0) {
		if err != nil {
			return f, fmt.Errorf("read log: %w", err)
		}
		if m.Header.Has(wanted) {
			// A commit that cannot be decoded is the views' to report.
			if r, err := events.Decode(m); err == nil {
				f.take(r, slots, gone)
				if r.Position > common {
					f.changes = append(f.changes, ledger.ChangesOf(r)...)
				}
			}
		}
		if m.Position >= state.Last || m.Pending == 0 {
			return f, nil
		}
	}
	return f, fmt.Errorf("read log: %w", events.ErrUnavailable)
}

func (f *found) take(r events.Recorded, slots map[events.Aggregate]bool, gone func(string, events.SourceRef) (string, bool)) {
	derived := func(sources []events.SourceRef) {
		for _, src := range sources {
			if _, is := gone(r.Aggregate.Tenant, src); is && !slots[r.Aggregate] {
				slots[r.Aggregate] = true
				f.slots = append(f.slots, r.Aggregate)
			}
		}
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.EpisodeForgotten, events.SubjectForgotten:
			f.tombstones[grave{r.Aggregate, ""}] = true
		case events.FactForgotten:
			f.tombstones[grave{r.Aggregate, e.Fact}] = true
		case events.SubjectHeld:
			f.holds[named{r.Aggregate.Tenant, r.Aggregate.ID}] = true
		case events.FactProposed:
			derived(e.Sources)
		case events.FactCorroborated:
			derived(e.Sources)
		default:
		}
	}
}
