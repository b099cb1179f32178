package memlog

import (
	"context"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
)

// Append adds one commit; see events.Appender.
func (l *Log) Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error) {
	if err := ctx.Err(); err != nil {
		return events.Ack{}, unavailable("append commit", err)
	}
	m, err := encode(events.Pending{Commit: c, Expect: expect})
	if err != nil {
		return events.Ack{}, fmt.Errorf("append commit: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.lastOf(m.Subject)
	if last.Position > 0 && last.Header.ID == c.ID {
		return events.Ack{Position: last.Position, Duplicate: true}, nil
	}
	if err := l.check(c.Aggregate, m.Subject, expect); err != nil {
		return events.Ack{}, err
	}
	for i := range l.messages {
		if old := &l.messages[i]; old.Subject == m.Subject && old.Header.ID == c.ID {
			return events.Ack{Position: old.Position, Duplicate: true}, nil
		}
	}
	return l.add(m), nil
}

// AppendBatch adds commits of distinct aggregates, all or none; see
// events.Appender. An empty batch does nothing.
func (l *Log) AppendBatch(ctx context.Context, batch []events.Pending) ([]events.Ack, error) {
	if err := ctx.Err(); err != nil {
		return nil, unavailable("append batch", err)
	}
	if len(batch) > events.MaxBatch {
		return nil, fmt.Errorf("append batch: %w: %d commits", events.ErrInvalid, len(batch))
	}
	messages := make([]events.Message, len(batch))
	seen := make(map[string]bool, len(batch))
	for i, p := range batch {
		m, err := encode(p)
		if err != nil {
			return nil, fmt.Errorf("append batch: commit %d: %w", i, err)
		}
		if seen[m.Subject] {
			return nil, fmt.Errorf("append batch: %w: commit %d is of an aggregate named before", events.ErrInvalid, i)
		}
		seen[m.Subject], messages[i] = true, m
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range batch {
		if err := l.check(p.Commit.Aggregate, messages[i].Subject, p.Expect); err != nil {
			return nil, err
		}
	}
	acks := make([]events.Ack, len(batch))
	for i, m := range messages {
		acks[i] = l.add(m)
	}
	return acks, nil
}

func encode(p events.Pending) (events.Message, error) {
	m, err := p.Encode()
	if err != nil {
		return events.Message{}, err
	}
	if len(m.Data) > MaxBytes {
		return events.Message{}, events.ErrTooLarge
	}
	return m, nil
}

func (l *Log) check(a events.Aggregate, subject string, expect events.Expect) error {
	actual := l.lastOf(subject).Position
	if expect == events.ExpectAny || uint64(expect) == actual {
		return nil
	}
	return &events.ConflictError{Aggregate: a, Expected: expect, Actual: actual}
}

func (l *Log) add(m events.Message) events.Ack {
	m.Position = uint64(len(l.messages)) + 1
	m.RecordedAt = l.now().UTC()
	m.Header.Types = slices.Clone(m.Header.Types)
	l.messages = append(l.messages, m)
	close(l.grown)
	l.grown = make(chan struct{})
	return events.Ack{Position: m.Position}
}
