package events

import (
	"context"
	"fmt"
	"iter"
	"math"
)

// Expect is what an append expects of its aggregate: the position of its last
// commit.
type Expect uint64

const (
	// ExpectNew expects an aggregate without commits.
	ExpectNew Expect = 0
	// ExpectAny expects nothing. It is for vectors and traces only; anything
	// else with it is ErrInvalid.
	ExpectAny Expect = math.MaxUint64
)

// Pending is a commit with its expectation, waiting to be appended.
type Pending struct {
	Commit Commit
	Expect Expect
}

// Encode turns p into the message that holds its commit, as [Encode] does. It
// is ErrInvalid to expect nothing of anything but vectors and traces: nobody
// would notice what was written in between.
func (p Pending) Encode() (Message, error) {
	if k := p.Commit.Aggregate.Kind; p.Expect == ExpectAny && k != KindVector && k != KindTrace {
		return Message{}, fmt.Errorf("%w: no expectation", ErrInvalid)
	}
	return Encode(p.Commit)
}

// MaxBatch is the largest number of commits appended in one batch.
const MaxBatch = 1_000

// Ack is the log's answer to an append.
type Ack struct {
	Position uint64
	// Duplicate says that this very commit (by id) was in the log already.
	Duplicate bool
}

// Appender writes the log. Only producers and the forget saga hold one.
type Appender interface {
	// Append adds one commit and returns when the log has acknowledged it at
	// its durability. It fails with a *ConflictError if the aggregate is not
	// where expected, unless its last commit has the id of this one: then the
	// append has happened already, and that commit's position is returned with
	// Duplicate set. ErrUnavailable leaves open whether it took effect.
	Append(ctx context.Context, c Commit, expect Expect) (Ack, error)
	// AppendBatch adds up to MaxBatch commits of distinct aggregates, all or
	// none, at consecutive positions in order. A conflict of one fails all
	// with that one's *ConflictError; there is no duplicate detection.
	AppendBatch(ctx context.Context, batch []Pending) ([]Ack, error)
}

// AggregateReader reads one aggregate's commits from the log itself.
type AggregateReader interface {
	// ReadAggregate yields the commits of a with positions above after, oldest
	// first, as of the time of the call or later. It sees every append that
	// was acknowledged before the call.
	ReadAggregate(ctx context.Context, a Aggregate, after uint64) iter.Seq2[Recorded, error]
	// Last returns the last commit of a, or ErrNoCommits.
	Last(ctx context.Context, a Aggregate) (Recorded, error)
}

// KindReader reads all of a tenant's aggregates of one kind.
type KindReader interface {
	// ReadKind yields the messages of a tenant's aggregates of a kind with
	// positions above after, oldest first, as of the time of the call or later.
	// It sees every append that was acknowledged before the call. Messages that
	// were removed from the log are skipped, and Pending is not told.
	ReadKind(ctx context.Context, tenant string, kind Kind, after uint64) iter.Seq2[Message, error]
}

// Follower reads the whole log in order.
type Follower interface {
	// Follow yields every message with a position above after, oldest first,
	// waits for new ones, and ends with the context or with an error. Positions
	// that were removed from the log are skipped. A message is never yielded
	// before one with a lower position. The message's Data belongs to the
	// caller.
	Follow(ctx context.Context, after uint64) iter.Seq2[Message, error]
	// State tells where the log stands.
	State(ctx context.Context) (State, error)
	// MessageAt returns the message at a position, or ErrNoCommits.
	MessageAt(ctx context.Context, position uint64) (Message, error)
}

// State is where a log stands.
type State struct {
	// Identity is unique to this log: another one, or one that was created
	// anew, has another.
	Identity string
	First    uint64
	Last     uint64
	Messages uint64
	Bytes    uint64
}

// Log is all of it. Callers declare the part they need.
type Log interface {
	Appender
	AggregateReader
	KindReader
	Follower
}
