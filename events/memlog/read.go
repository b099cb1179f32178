package memlog

import (
	"context"
	"fmt"
	"iter"

	"github.com/annals-memory/annals/events"
)

// ReadAggregate yields the commits of a above after; see
// events.AggregateReader.
func (l *Log) ReadAggregate(ctx context.Context, a events.Aggregate, after uint64) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		if err := a.Valid(); err != nil {
			yield(events.Recorded{}, fmt.Errorf("read aggregate: %w", err))
			return
		}
		subject := a.Subject()
		for {
			if err := ctx.Err(); err != nil {
				yield(events.Recorded{}, unavailable("read aggregate", err))
				return
			}
			m, _, ok := l.next(after, subject)
			if !ok {
				return
			}
			r, err := events.Decode(m)
			if err != nil {
				yield(events.Recorded{}, fmt.Errorf("read aggregate: %w", err))
				return
			}
			if !yield(r, nil) {
				return
			}
			after = m.Position
		}
	}
}

// Last returns the last commit of a; see events.AggregateReader.
func (l *Log) Last(ctx context.Context, a events.Aggregate) (events.Recorded, error) {
	if err := a.Valid(); err != nil {
		return events.Recorded{}, fmt.Errorf("read last commit: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return events.Recorded{}, unavailable("read last commit", err)
	}
	l.mu.Lock()
	m := clone(l.lastOf(a.Subject()))
	l.mu.Unlock()
	if m.Position == 0 {
		return events.Recorded{}, fmt.Errorf("read last commit: %w", events.ErrNoCommits)
	}
	r, err := events.Decode(m)
	if err != nil {
		return events.Recorded{}, fmt.Errorf("read last commit: %w", err)
	}
	return r, nil
}

// MessageAt returns the message at a position; see events.Follower.
func (l *Log) MessageAt(ctx context.Context, position uint64) (events.Message, error) {
	if err := ctx.Err(); err != nil {
		return events.Message{}, unavailable("read message", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if position == 0 || position > uint64(len(l.messages)) || l.removed[position] {
		return events.Message{}, fmt.Errorf("read message: %w", events.ErrNoCommits)
	}
	return clone(l.messages[position-1]), nil
}

// Follow yields every message above after and waits for more; see
// events.Follower. When the context ends, so does the sequence, without an
// error.
func (l *Log) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for ctx.Err() == nil {
			m, grown, ok := l.next(after, "")
			if ok {
				if !yield(m, nil) {
					return
				}
				after = m.Position
				continue
			}
			select {
			case <-grown:
			case <-ctx.Done():
			}
		}
	}
}

// next returns the first message above after, on the subject unless that is
// empty, and otherwise a channel that is closed by the next append.
func (l *Log) next(after uint64, subject string) (events.Message, <-chan struct{}, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found events.Message
	ok := false
	var pending uint64
	for i := after; i < uint64(len(l.messages)); i++ {
		m := &l.messages[i]
		if l.removed[m.Position] || (subject != "" && m.Subject != subject) {
			continue
		}
		if ok {
			pending++
			continue
		}
		if found, ok = clone(*m), true; subject != "" {
			break // Only a follower is told what is pending.
		}
	}
	found.Pending = pending
	return found, l.grown, ok
}
