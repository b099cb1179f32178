package eventstest

import (
	"slices"
	"strconv"
	"time"

	"github.com/annals-memory/annals/events"
)

// The tokens that the builders use where a test does not care.
const (
	Tenant    = "tenant-a"
	Subject   = "subject-a"
	Class     = "class-a"
	Principal = "principal-a"
)

// Epoch is the time at which the builders' time begins.
func Epoch() time.Time { return time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC) }

// Day is Epoch and n days.
func Day(n int) time.Time { return Epoch().AddDate(0, 0, n) }

// NewCommit is a commit of the tenant Tenant with the given events; its id is made
// of the aggregate's and the number of events.
func NewCommit(kind events.Kind, id string, list ...events.Event) events.Commit {
	return events.Commit{
		ID:        "commit-" + id + "-" + strconv.Itoa(len(list)),
		Aggregate: events.Aggregate{Tenant: Tenant, Kind: kind, ID: id},
		Time:      Epoch(),
		Principal: Principal,
		Events:    list,
	}
}

// Episode is the commit that captures an episode, changed as edit says.
func Episode(id string, edit ...func(*events.EpisodeCaptured)) events.Commit {
	e := events.EpisodeCaptured{
		Subject: Subject, Class: Class, OccurredAt: Epoch(), Trust: events.TrustUser, Content: []byte(id),
	}
	for _, change := range edit {
		change(&e)
	}
	return NewCommit(events.KindEpisode, id, e)
}

// Proposed is a candidate taken from one episode, changed as edit says.
func Proposed(fact string, edit ...func(*events.FactProposed)) events.FactProposed {
	e := events.FactProposed{
		Fact: fact, Subject: Subject, Class: Class, Predicate: "predicate-a", Category: "category-a",
		Confidence: 0.97, Trust: events.TrustUser, ObservedAt: Epoch(),
		Sources: []events.SourceRef{{Episode: "episode-a", Subject: Subject}}, Content: []byte(fact),
	}
	for _, change := range edit {
		change(&e)
	}
	return e
}

// Since is the valid time that begins at from and is open.
func Since(from time.Time) []events.Interval { return []events.Interval{{From: from}} }

// Between is the valid time from one time to another.
func Between(from, to time.Time) []events.Interval { return []events.Interval{{From: from, To: to}} }

// Record is c as the log at a position would return it. The time of record is
// Epoch and one second for each position.
func Record(c events.Commit, position uint64) events.Recorded {
	c.Events = slices.Clone(c.Events)
	return events.Recorded{
		Commit: c, Position: position,
		RecordedAt: Epoch().Add(time.Duration(position) * time.Second),
	}
}
