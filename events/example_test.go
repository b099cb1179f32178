package events_test

import (
	"fmt"
	"time"

	"github.com/annals-memory/annals/events"
)

// A commit becomes a message: a subject, headers that can be read without our
// code, and a body of JSON.
func ExampleEncode() {
	m, err := events.Encode(events.Commit{
		ID:        "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a07",
		Aggregate: events.Aggregate{Tenant: "acme", Kind: events.KindEpisode, ID: "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a01"},
		Time:      time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC),
		Events: []events.Event{
			events.EpisodeForgotten{Subject: "mfrggzdfmztwq2lknnwg23tpoa", Erasure: "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a04"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Subject)
	fmt.Println(m.Header.Types)
	fmt.Println(string(m.Data))
	// Output:
	// annals.47.acme.episode.0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a01
	// [annals.episode.forgotten.v1]
	// {"events":[{"type":"annals.episode.forgotten.v1","data":{"subject":"mfrggzdfmztwq2lknnwg23tpoa","erasure":"0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a04"}}]}
}

// Somebody moves from one city to another. The later fact supersedes the
// earlier one in a single commit, and the earlier one stays true of its time.
func ExampleSlot() {
	may, june := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
	lisbon := []events.Event{
		events.FactProposed{Fact: "lives-in-lisbon", ObservedAt: may},
		events.FactPromoted{Fact: "lives-in-lisbon", Valid: []events.Interval{{From: may}}},
	}
	porto := []events.Event{
		events.FactProposed{Fact: "lives-in-porto", ObservedAt: june},
		events.FactPromoted{Fact: "lives-in-porto", Valid: []events.Interval{{From: june}}},
		events.FactSuperseded{
			Fact: "lives-in-lisbon", By: "lives-in-porto",
			Valid: []events.Interval{{From: may, To: june}},
		},
	}

	var slot events.Slot
	slot.Apply(events.Recorded{Position: 1, Commit: events.Commit{Events: lisbon}})
	touched := slot.Apply(events.Recorded{Position: 2, Commit: events.Commit{Events: porto}})
	slot.Apply(events.Recorded{Position: 2, Commit: events.Commit{Events: porto}}) // delivered again: nothing happens

	fmt.Println("touched:", touched)
	fmt.Println("in May: ", slot.At(may.AddDate(0, 0, 14)).Fact)
	fmt.Println("in July:", slot.At(june.AddDate(0, 1, 0)).Fact)
	for _, f := range slot.Facts {
		fmt.Println(f.Fact, "is", f.Status)
	}
	// Output:
	// touched: [lives-in-porto lives-in-lisbon]
	// in May:  lives-in-lisbon
	// in July: lives-in-porto
	// lives-in-lisbon is superseded
	// lives-in-porto is active
}
