package natslog

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"github.com/annals-memory/annals/events"
)

// AppendBatch adds commits of distinct aggregates, all or none, with one sync
// of the disk; see events.Appender. An empty batch does nothing.
func (l *Log) AppendBatch(ctx context.Context, batch []events.Pending) ([]events.Ack, error) {
	const verb = "append batch"
	if len(batch) == 0 {
		return nil, nil
	}
	if len(batch) > events.MaxBatch {
		return nil, fmt.Errorf("%s: %w: %d commits", verb, events.ErrInvalid, len(batch))
	}
	seen := make(map[string]struct{}, len(batch))
	messages := make([]*nats.Msg, len(batch))
	for i, p := range batch {
		msg, err := encode(p)
		if err != nil {
			return nil, fmt.Errorf("%s: commit %d: %w", verb, i, err)
		}
		if _, twice := seen[msg.Subject]; twice {
			return nil, fmt.Errorf("%s: %w: commit %d is of an aggregate named before", verb, events.ErrInvalid, i)
		}
		seen[msg.Subject], messages[i] = struct{}{}, msg
	}
	for try := 0; ; try++ {
		final, err := l.publishAll(ctx, messages)
		switch {
		case err == nil:
			acks := make([]events.Ack, len(batch))
			for i := range acks {
				acks[i].Position = final - uint64(len(batch)-1-i) //nolint:gosec // at most MaxBatch.
			}
			return acks, nil
		case !isConflict(err):
			return nil, l.unanswered(verb, err)
		}
		if err := l.batchConflict(ctx, batch); err != nil {
			return nil, err
		}
		if err := retry(ctx, try); err != nil {
			return nil, translate(verb, err)
		}
	}
}

// batchConflict finds the commit that conflicts, which the server does not
// tell. It returns nil if none does any more.
func (l *Log) batchConflict(ctx context.Context, batch []events.Pending) error {
	for _, p := range batch {
		if p.Expect == events.ExpectAny {
			continue
		}
		// Without an id no message is this commit: there is no duplicate
		// detection in a batch.
		c := events.Commit{Aggregate: p.Commit.Aggregate}
		if _, _, err := l.conflict(ctx, c, p.Expect, p.Commit.Aggregate.Subject()); err != nil {
			return err
		}
	}
	return nil
}

// publishAll publishes messages as one atomic batch and returns the sequence of
// the last one. Messages that are too large are found before the first is
// sent, because the server keeps an abandoned batch open for ten seconds.
func (s *store) publishAll(ctx context.Context, messages []*nats.Msg) (uint64, error) {
	for _, m := range messages {
		if int64(m.Size()) > s.nc.MaxPayload()-batchHeaders {
			return 0, nats.ErrMaxPayload
		}
	}
	if len(messages) == 1 {
		ack, err := s.publish(ctx, messages[0])
		if err != nil {
			return 0, err
		}
		return ack.Sequence, nil
	}
	if err := s.refuse(); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	ack, err := jetstreamext.PublishMsgBatch(ctx, s.js, messages)
	if err != nil {
		return 0, err //nolint:wrapcheck // callers translate.
	}
	return ack.Sequence, nil
}

// batchHeaders is room for the headers that a batch adds to a message.
const batchHeaders = 256
