package memlog

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
)

// MaxBytes is the largest body of a commit the log takes.
const MaxBytes = 8 << 20

// Log is an events.Log in memory. It is safe for concurrent use.
type Log struct {
	identity string
	now      func() time.Time

	mu       sync.Mutex
	messages []events.Message // the message at index i has position i+1
	removed  map[uint64]bool
	grown    chan struct{} // closed and replaced by every append
}

var _ events.Log = (*Log)(nil)

// New returns an empty log. The identity is what State reports, and now is the
// clock of Recorded.RecordedAt.
func New(identity string, now func() time.Time) *Log {
	return &Log{
		identity: identity, now: now,
		removed: map[uint64]bool{}, grown: make(chan struct{}),
	}
}

// State tells where the log stands. Bytes counts bodies only.
func (l *Log) State(ctx context.Context) (events.State, error) {
	if err := ctx.Err(); err != nil {
		return events.State{}, unavailable("read state", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := events.State{Identity: l.identity, Last: uint64(len(l.messages))}
	for _, m := range l.messages {
		if l.removed[m.Position] {
			continue
		}
		if s.First == 0 {
			s.First = m.Position
		}
		s.Messages++
		s.Bytes += uint64(len(m.Data))
	}
	if s.First == 0 {
		s.First = s.Last + 1
	}
	return s, nil
}

// SecureDelete removes the messages at the positions. Absent is success.
func (l *Log) SecureDelete(ctx context.Context, positions ...uint64) error {
	if err := ctx.Err(); err != nil {
		return unavailable("delete messages", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range positions {
		if p == 0 || p > uint64(len(l.messages)) {
			continue
		}
		l.removed[p] = true
		l.messages[p-1] = events.Message{Position: p}
	}
	return nil
}

// lastOf returns the last message on the subject that is not removed, the zero
// message if there is none. The caller holds the mutex.
func (l *Log) lastOf(subject string) events.Message {
	for _, m := range slices.Backward(l.messages) {
		if m.Subject == subject {
			return m
		}
	}
	return events.Message{}
}

// clone gives the caller a message of its own.
func clone(m events.Message) events.Message {
	m.Data = slices.Clone(m.Data)
	m.Header.Types = slices.Clone(m.Header.Types)
	return m
}

func unavailable(verb string, cause error) error {
	return fmt.Errorf("%s: %w: %w", verb, events.ErrUnavailable, cause)
}
