package events

import (
	"fmt"
	"time"
)

// MaxEvents is the largest number of events in one commit.
const MaxEvents = 1_000

// Commit is what one command did to one aggregate: events that are applied all
// or not at all, in one message.
type Commit struct {
	// ID identifies the command. A retry carries the same id.
	ID        string
	Aggregate Aggregate
	// Time is the writer's clock, for people; nothing is ordered by it.
	Time time.Time
	// Principal is the token of who acted.
	Principal string
	// TraceParent is the W3C trace context of the command, in the form of its
	// version 00, "" if none.
	TraceParent string
	Events      []Event
}

// Valid reports the first rule of the language that c breaks, as ErrInvalid.
func (c Commit) Valid() error {
	if err := c.Aggregate.Valid(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch {
	case !ValidToken(c.ID):
		return fmt.Errorf("%w: commit id", ErrInvalid)
	case c.Principal != "" && !ValidToken(c.Principal):
		return fmt.Errorf("%w: principal", ErrInvalid)
	case !ValidTraceParent(c.TraceParent):
		return fmt.Errorf("%w: trace parent", ErrInvalid)
	case c.Time.IsZero():
		return fmt.Errorf("%w: no time", ErrInvalid)
	case len(c.Events) == 0 || len(c.Events) > MaxEvents:
		return fmt.Errorf("%w: %d events", ErrInvalid, len(c.Events))
	}
	return nil
}

// ValidTraceParent reports whether s is empty or has the form of a W3C
// traceparent: two, 32, 16 and two lower-case hexadecimal digits with dashes
// between them. Nothing else fits into it, a name least of all.
func ValidTraceParent(s string) bool {
	if s == "" {
		return true
	}
	if len(s) != len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		dash := i == 2 || i == 35 || i == 52
		if dash != (c == '-') || !dash && (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Recorded is a commit with its place in the log.
type Recorded struct {
	Commit
	// Position is the stream sequence.
	Position uint64
	// RecordedAt is the log's own clock: the time of record of everything in
	// the commit. It does not go back with the position on one leader.
	RecordedAt time.Time
}

// Message is a commit as the log holds it, not yet decoded.
type Message struct {
	Subject    string
	Header     Header
	Data       []byte
	Position   uint64
	RecordedAt time.Time
	// Pending is how many messages were waiting behind this one when it was
	// delivered; 0 means that the reader has caught up.
	Pending uint64
}

// Header is what stands in the headers of a message, following CloudEvents 1.0.
type Header struct {
	ID          string    // ce-id: the commit id
	Time        time.Time // ce-time
	Principal   string    // annals-principal
	TraceParent string    // traceparent
	// Types are the event types in the commit, in order (annals-events), so
	// that a reader can skip a message without decoding it.
	Types []string
}

// Has reports whether any event in the message has one of the given types.
func (h Header) Has(types map[string]bool) bool {
	for _, t := range h.Types {
		if types[t] {
			return true
		}
	}
	return false
}
