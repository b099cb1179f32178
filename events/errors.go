package events

import (
	"errors"
	"fmt"
)

// Errors a caller can act on. Adapters translate what their store says into
// these and never leak it.
var (
	// ErrConflict: the aggregate was not at the expected position.
	ErrConflict = errors.New("version conflict")
	// ErrNoCommits: the aggregate has no commit, or its last one was removed.
	ErrNoCommits = errors.New("no commits")
	// ErrBadToken: a token is empty, too long or outside [a-z0-9-].
	ErrBadToken = errors.New("bad token")
	// ErrBadSubject: a NATS subject is not one of the log's.
	ErrBadSubject = errors.New("bad subject")
	// ErrUnknownType: the event type, or its version, is not known here.
	ErrUnknownType = errors.New("unknown event type")
	// ErrCorrupt: the message cannot be what a writer wrote.
	ErrCorrupt = errors.New("corrupt commit")
	// ErrInvalid: the commit may not be written: it breaks a rule of the
	// language.
	ErrInvalid = errors.New("invalid commit")
	// ErrUnavailable: the log did not answer. Whether an append took effect is
	// unknown; retrying it with the same commit id is safe.
	ErrUnavailable = errors.New("log unavailable")
	// ErrNotWritable: the log's store failed to write, mostly because its disk is
	// full. Reads go on, and nothing is written until the store is started again.
	ErrNotWritable = errors.New("log cannot be written")
	// ErrTooLarge: the commit is larger than the log takes.
	ErrTooLarge = errors.New("commit too large")
)

// ConflictError is the conflict of one append. Actual is the position of the
// aggregate's last commit, 0 if it has none.
type ConflictError struct {
	Aggregate Aggregate
	Expected  Expect
	Actual    uint64
}

// Error names positions only.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("version conflict: %s expected at %d, is at %d", e.Aggregate.Kind, e.Expected, e.Actual)
}

// Is reports ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
