package logtest

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
)

// Episode is a valid commit: one episode of about size bytes, captured. The id
// of the commit is "c-" and the id of the episode.
func Episode(tenant, id string, size int) events.Commit {
	return events.Commit{
		ID:        "c-" + id,
		Aggregate: events.Aggregate{Tenant: tenant, Kind: events.KindEpisode, ID: id},
		Time:      time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC),
		Principal: "agent-1",
		Events: []events.Event{events.EpisodeCaptured{
			Subject: "s-1", Class: "c-1", OccurredAt: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC),
			Trust: events.TrustUser, Content: make([]byte, size),
		}},
	}
}

// Vector is a valid commit on a tenant's shared subject, for ExpectAny.
func Vector(tenant, id string) events.Commit {
	c := Episode(tenant, id, 0)
	c.Aggregate.Kind, c.Aggregate.ID = events.KindVector, events.SharedID
	c.Events = []events.Event{events.VectorEmbedded{
		Record: id, Subject: "s-1", Class: "c-1", Of: events.KindEpisode, Source: 1, Model: "m", Content: []byte{1}, Dim: 1,
	}}
	return c
}

// withID gives a commit another command.
func withID(c events.Commit, id string) events.Commit {
	c.ID = id
	return c
}

func mustAppend(t *testing.T, log events.Appender, c events.Commit, expect events.Expect) uint64 {
	t.Helper()
	ack, err := log.Append(t.Context(), c, expect)
	if err != nil || ack.Duplicate || ack.Position == 0 {
		t.Fatalf("append: %+v, %v", ack, err)
	}
	return ack.Position
}

// mustFill appends n commits to one aggregate, expecting each other, from the
// empty aggregate on.
func mustFill(t *testing.T, log events.Appender, c events.Commit, n int) []uint64 {
	t.Helper()
	positions := make([]uint64, 0, n)
	last := uint64(0)
	for i := range n {
		last = mustAppend(t, log, withID(c, fmt.Sprintf("%s-%d", c.ID, i)), events.Expect(last))
		positions = append(positions, last)
	}
	return positions
}

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for v, err := range seq {
		if err != nil {
			t.Fatalf("after %d: %v", len(all), err)
		}
		all = append(all, v)
	}
	return all
}

func positionsOf(list []events.Recorded) []uint64 {
	out := make([]uint64, 0, len(list))
	for _, r := range list {
		out = append(out, r.Position)
	}
	return out
}
