package natslog

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// Log is the events.Log on the stream EVENTS. It is safe for concurrent use.
type Log struct {
	*store
}

var _ events.Log = (*Log)(nil)

// State tells where the log stands.
func (l *Log) State(ctx context.Context) (events.State, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return events.State{}, translate("read state", err)
	}
	return events.State{
		Identity: identity(info),
		First:    info.State.FirstSeq, Last: info.State.LastSeq,
		Messages: info.State.Msgs, Bytes: info.State.Bytes,
	}, nil
}

// MessageAt returns the message at a position; see events.Follower.
func (l *Log) MessageAt(ctx context.Context, position uint64) (events.Message, error) {
	if position == 0 {
		return events.Message{}, fmt.Errorf("read message: %w", events.ErrNoCommits)
	}
	m, err := l.at(ctx, position)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return events.Message{}, fmt.Errorf("read message: %w", events.ErrNoCommits)
	case err != nil:
		return events.Message{}, translate("read message", err)
	}
	return fromRaw(m), nil
}

// Last returns the last commit of a; see events.AggregateReader. Like
// ReadAggregate it sees every append that was acknowledged before the call.
func (l *Log) Last(ctx context.Context, a events.Aggregate) (events.Recorded, error) {
	if err := a.Valid(); err != nil {
		return events.Recorded{}, fmt.Errorf("read last commit: %w", err)
	}
	m, err := l.last(ctx, a.Subject())
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return events.Recorded{}, fmt.Errorf("read last commit: %w", events.ErrNoCommits)
	case err != nil:
		return events.Recorded{}, translate("read last commit", err)
	}
	return decode("read last commit", m)
}

// ReadAggregate yields the commits of a above after; see
// events.AggregateReader.
//
// The last message is read first. If it expected a position that is not above
// after, it is the only one to yield; otherwise pages of direct gets follow
// until the last message has been seen, a short one first, for who finds what it
// looks for among the first. Should the replica that answers lag
// behind, the leader is asked for the rest, message by message.
func (l *Log) ReadAggregate(ctx context.Context, a events.Aggregate, after uint64) iter.Seq2[events.Recorded, error] {
	const verb = "read aggregate"
	return func(yield func(events.Recorded, error) bool) {
		if err := a.Valid(); err != nil {
			yield(events.Recorded{}, fmt.Errorf("%s: %w", verb, err))
			return
		}
		subject := a.Subject()
		last, err := l.last(ctx, subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return
		case err != nil:
			yield(events.Recorded{}, translate(verb, err))
			return
		case last.Sequence <= after:
			return
		}
		if before, ok := expected(last.Header); ok && before <= after {
			yield(decode(verb, last))
			return
		}
		size := firstPage
		for from := after + 1; from <= last.Sequence; size = pageMessages {
			page, err := l.pageUpTo(ctx, subject, from, size)
			if err != nil {
				yield(events.Recorded{}, translate(verb, err))
				return
			}
			if len(page) == 0 {
				return // The rest was removed meanwhile.
			}
			for _, m := range page {
				if r, err := decode(verb, m); !yield(r, err) || err != nil {
					return
				}
			}
			from = page[len(page)-1].Sequence + 1
		}
	}
}

// pageUpTo returns a page of which nothing that was acknowledged is missing;
// it is empty only if there is nothing left.
func (l *Log) pageUpTo(ctx context.Context, subject string, from uint64, size int) ([]*jetstream.RawStreamMsg, error) {
	page, err := l.page(ctx, subject, from, size)
	if err != nil || len(page) > 0 || !l.replicated {
		return page, err
	}
	m, err := l.next(ctx, subject, from)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []*jetstream.RawStreamMsg{m}, nil
}

func decode(verb string, m *jetstream.RawStreamMsg) (events.Recorded, error) {
	r, err := events.Decode(fromRaw(m))
	if err != nil {
		return events.Recorded{}, fmt.Errorf("%s: %w", verb, err)
	}
	return r, nil
}
