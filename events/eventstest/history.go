package eventstest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
)

// History draws what one fact slot could have recorded: up to 20 commits at
// ascending positions, about at most four facts, in an order that no decider
// needs to have chosen.
func History(t *rapid.T) []events.Recorded {
	facts := []string{"fact-a", "fact-b", "fact-c", "fact-d"}
	types := []string{
		events.TypeFactProposed, events.TypeFactDecided, events.TypeFactPromoted, events.TypeFactSuperseded,
		events.TypeFactCorroborated, events.TypeFactRetracted, events.TypeFactSourceLost, events.TypeFactForgotten,
	}
	var position uint64
	out := make([]events.Recorded, rapid.IntRange(0, 20).Draw(t, "commits"))
	for i := range out {
		batch := make([]events.Event, rapid.IntRange(1, 3).Draw(t, "events"))
		for j := range batch {
			typ := rapid.SampledFrom(types).Draw(t, "type")
			batch[j] = FactEventOf(t, typ, rapid.SampledFrom(facts).Draw(t, "about"))
		}
		position += rapid.Uint64Range(1, 1_000).Draw(t, "gap")
		c := NewCommit(events.KindFact, "slot-a", batch...)
		c.ID = fmt.Sprintf("commit-%d", position)
		out[i] = Record(c, position)
	}
	return out
}
