package projectors

import (
	"time"

	"github.com/annals-memory/annals/events"
)

// FactRow is one fact with its slot. Content is sealed: it opens in the scope of Tenant, Subject and Class under the label
// of aggregate [events.KindFact], record Fact and type [events.TypeFactProposed].
type FactRow struct {
	// Tenant is the token of the tenant, Slot the id of the slot's aggregate.
	Tenant, Slot string
	events.SlotFact
	// Masked is set when every source of the fact that ever existed is forgotten while the fact has no tombstone yet.
	// Only [Snapshot.FactsBySource] and [Snapshot.FactsBySourceSubject] return such rows with their true status, for the
	// cascade; their sealed parts are gone. [Snapshot.Fact] shows them as deleted, all other reads leave them out.
	Masked bool
}

// Revision is what was known of a fact's validity between two times of record: one cell on both axes of time.
type Revision struct {
	// Fact is the fact's id.
	Fact string
	// Valid is when the fact was held to be true, disjoint and ascending.
	Valid  []events.Interval
	Status events.FactStatus
	// RecordedFrom is included. RecordedTo is excluded; zero means that it is what is known still.
	RecordedFrom, RecordedTo time.Time
	// Position is that of the commit that made the revision. Of two revisions with the same RecordedFrom the one with the
	// higher position is the later.
	Position uint64
}

// FactAt is a fact as one of its revisions shows it: Status and Valid of the fact are those of the revision.
type FactAt struct {
	FactRow
	Revision Revision
	// Retired says that the fact is taken from earlier revisions of its sources only.
	Retired bool
}

// FactFilter says which facts of one subject are wanted. Facts that are taken from earlier revisions of their sources only, as
// of the asked times, are left out unless History is set. All names are tokens; empty ones are no condition.
type FactFilter struct {
	// Subject is the subject's id. It is required.
	Subject string
	// Predicate, Scope and Category are the tokens in the facts.
	Predicate, Scope, Category string
	// ValidAt is the time at which facts must be true; nil is Now.
	ValidAt *time.Time
	// KnownAt is the time of record as of which is answered; nil is the position of the snapshot.
	KnownAt *time.Time
	// History asks for every fact that was ever promoted and not only for those that are true at ValidAt, which is then
	// no condition unless it is set.
	History bool
	// After is the cursor that the page before returned.
	After string
	// Limit is the greatest number of rows, zero or less for 100.
	Limit int
	// Now is the time at which expiry is judged. Facts that have expired are left out unless History is set.
	Now time.Time
}
