package producers_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
)

// The vector of a candidate waits for the decision, also across a restart in
// between, and for one whose command was cut off not for ever.
func TestEmbedderWaitsForTheDecision(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]bool{"decided late": true, "cut off": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			log := &faultyLog{Log: s.log, kind: events.KindFact}
			log.after = unavailable
			f := s.openOn(t, log, s.rows)
			ctx, who := t.Context(), user("acme")
			r := claim(`"rome"`, day(3), f.capture("maria", "hello"))
			if _, err := f.Propose(ctx, who, "key", r); !errors.Is(err, events.ErrUnavailable) {
				t.Fatal(err)
			}
			candidate := f.messages()
			id := f.slot().Facts[0].Fact

			model, checkpoint := &hashModel{batch: 8}, newMemCheckpoint()
			f.capture("maria", "so that there is a checkpoint to store")
			f.embedding(t, model, checkpoint, candidate-1)
			if n := len(f.vectors(t)[id]); n != 0 || checkpoint.at != candidate-1 {
				t.Errorf("%d vectors of what is undecided, checkpoint at %d, candidate at %d", n, checkpoint.at, candidate)
			}
			if decide {
				if _, err := f.Propose(ctx, who, "key", r); err != nil {
					t.Fatal(err)
				}
			} else {
				for f.messages() < candidate+1_000 {
					f.capture("maria", "!?") // about which there is nothing to say
				}
			}
			f.embedding(t, model, checkpoint, candidate+1)
			if n := len(f.vectors(t)[id]); n != 1 {
				t.Errorf("%d vectors, want 1", n)
			}
		})
	}
}
