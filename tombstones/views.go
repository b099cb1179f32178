package tombstones

import (
	"context"
	"time"

	"github.com/annals-memory/annals/events"
)

// Views is what the saga asks of the serving views.
type Views interface {
	// WaitFor returns when every serving view has folded the position; the
	// error matches events.ErrBehind if the context ends first.
	WaitFor(ctx context.Context, position uint64) error
	// Snapshot returns the views as they stand. It must be closed.
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is one state of the views.
type Snapshot interface {
	// Fact finds a fact or candidate, its tombstone too, or events.ErrNotFound.
	Fact(tenant, id string) (Fact, error)
	// Match returns every record that passes, in no particular order.
	Match(ctx context.Context, tenant string, m Match) ([]Record, error)
	Lineage
	Counts
	Graves
	Close() error
}

// Lineage tells what was taken from what.
type Lineage interface {
	// Slots returns the slots that hold facts taken from an episode, or from any
	// episode of a subject if the episode is empty.
	Slots(tenant, episode, subject string) ([]string, error)
	// Derived returns the facts and candidates taken from an episode that are not
	// forgotten, those that nothing shows any more too.
	Derived(tenant, episode string) ([]Derivation, error)
}

// Counts tell how much there is.
type Counts interface {
	// Tally counts what is kept of a subject; counted is false once any view has
	// its tombstone.
	Tally(tenant, subject string) (t Tally, counted bool, err error)
	// Position is the one up to which every view has folded the log.
	Position() uint64
}

// Graves tell what was forgotten and what must be kept.
type Graves interface {
	// TombstonesOf returns one page of the tombstones of an erasure and the cursor
	// of the next.
	TombstonesOf(tenant, erasure, after string, limit int) (page []Tombstone, next string, err error)
	// Held reports whether a subject is under a legal hold.
	Held(tenant, subject string) bool
}

// Tally is how many records are kept of a subject, and the positions up to which
// the log is in these numbers.
type Tally struct {
	Episodes, Facts     int
	EpisodesAt, FactsAt uint64
}

// Record names one record, where its events are, and when it was recorded.
type Record struct {
	Kind events.Kind
	ID   string
	// Aggregate is the id of the aggregate: the episode's own, the fact's slot.
	Aggregate string
	Subject   string
	// Position is that of the commit that made it.
	Position uint64
}

// Fact is what the saga needs to know of a fact.
type Fact struct {
	Record

	// Erasure and Tombstone are the erasure and the position of its tombstone,
	// if it has one. Aggregate and Position are not known then.
	Erasure   string
	Tombstone uint64
}

// Tombstone is what is left of a forgotten subject, episode or fact.
type Tombstone struct {
	Kind     events.Kind
	ID       string
	Subject  string
	Erasure  string
	Position uint64
}

// Match says which records are wanted, by tokens; what is empty is no condition.
type Match struct {
	Subject, Session             string
	Categories, Entities, Labels []string
	// Principal is who captured an episode or proposed a fact.
	Principal string
	// Source is that of episodes; facts have none and do not match.
	Source string
	// From (included) and To (excluded) bound when an episode happened and when
	// a fact was observed.
	From, To *time.Time
	// Kinds are of KindEpisode and KindFact; none is both.
	Kinds []events.Kind
}
