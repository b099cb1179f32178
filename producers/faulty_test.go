package producers_test

import (
	"context"
	"sync"

	"github.com/annals-memory/annals/events"
)

// faultyLog does something just before or after an append, once per planned
// fault: fails as if the process had died, or lets somebody else act.
type faultyLog struct {
	events.Log
	mu sync.Mutex
	// before and after are for the appends of one kind of aggregate.
	kind          events.Kind
	before, after func() error
}

func (l *faultyLog) take(f *func() error, kind events.Kind) func() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if *f == nil || kind != l.kind {
		return func() error { return nil }
	}
	do := *f
	*f = nil
	return do
}

func (l *faultyLog) Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error) {
	if err := l.take(&l.before, c.Aggregate.Kind)(); err != nil {
		return events.Ack{}, err
	}
	ack, err := l.Log.Append(ctx, c, expect)
	if err != nil {
		return ack, err
	}
	if err := l.take(&l.after, c.Aggregate.Kind)(); err != nil {
		return events.Ack{}, err
	}
	return ack, nil
}

func (l *faultyLog) AppendBatch(ctx context.Context, batch []events.Pending) ([]events.Ack, error) {
	if err := l.take(&l.before, batch[0].Commit.Aggregate.Kind)(); err != nil {
		return nil, err
	}
	acks, err := l.Log.AppendBatch(ctx, batch)
	if err != nil {
		return acks, err
	}
	if err := l.take(&l.after, batch[0].Commit.Aggregate.Kind)(); err != nil {
		return nil, err
	}
	return acks, nil
}

// holed is a log of which most messages are removed.
type holed struct{ events.Log }

func (l holed) MessageAt(ctx context.Context, position uint64) (events.Message, error) {
	if position%7 != 0 {
		return events.Message{}, events.ErrNoCommits
	}
	return l.Log.MessageAt(ctx, position)
}

func unavailable() error { return events.ErrUnavailable }

// second is a fault that lets one append pass and plans the given one for the
// next. At is where the fault is planned; commands must not run at once.
func (l *faultyLog) second(at *func() error, do func() error) func() error {
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		*at = do
		return nil
	}
}
