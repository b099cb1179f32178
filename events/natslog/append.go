package natslog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

const (
	// A replicated stream reports a conflict with an append that is still on
	// its way. Until that one arrives, the aggregate reads as expected, and the
	// append is tried again.
	conflictRetries = 20
	conflictWait    = 5 * time.Millisecond
)

// Append adds one commit; see events.Appender. Within the duplicate window a
// retry under ExpectAny is recognised whatever followed it, later only if
// nothing did.
func (l *Log) Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error) {
	msg, err := encode(events.Pending{Commit: c, Expect: expect})
	if err != nil {
		return events.Ack{}, fmt.Errorf("append commit: %w", err)
	}
	msg.Header[jetstream.MsgIDHeader] = []string{c.ID}
	for try := 0; ; try++ {
		ack, err := l.publish(ctx, msg)
		switch {
		case err == nil && !ack.Duplicate:
			return events.Ack{Position: ack.Sequence}, nil
		case err == nil:
			known, ours, err := l.duplicate(ctx, c, expect, msg.Subject, ack.Sequence)
			if ours || err != nil {
				return known, err
			}
			// The id was another aggregate's commit, or its message is gone:
			// this commit is not in the log. The id is made this aggregate's,
			// and left out if that is of a message that is gone as well.
			if id := c.ID + "@" + msg.Subject; first(msg.Header[jetstream.MsgIDHeader]) != id {
				msg.Header[jetstream.MsgIDHeader] = []string{id}
			} else {
				delete(msg.Header, jetstream.MsgIDHeader)
			}
		case isConflict(err):
			known, settled, err := l.conflict(ctx, c, expect, msg.Subject)
			if settled || err != nil {
				return known, err
			}
			if err := retry(ctx, try); err != nil {
				return events.Ack{}, translate("append commit", err)
			}
		default:
			return events.Ack{}, l.unanswered("append commit", err)
		}
	}
}

// duplicate settles an acknowledgement that says that the message id was seen
// at a position. It reports false if that is not this commit.
func (l *Log) duplicate(ctx context.Context, c events.Commit, expect events.Expect, subject string, position uint64) (events.Ack, bool, error) {
	m, err := l.at(ctx, position)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return events.Ack{}, false, nil
	case err != nil:
		return events.Ack{}, false, translate("append commit", err)
	case m.Subject != subject || first(m.Header[headerID]) != c.ID:
		return events.Ack{}, false, nil
	case expect == events.ExpectAny:
		return events.Ack{Position: position, Duplicate: true}, true, nil
	}
	// Several replicas look at the id before the expectation and one after it.
	// Either way the expectation comes first here.
	known, settled, err := l.conflict(ctx, c, expect, subject)
	if !settled && err == nil {
		known = events.Ack{Position: position, Duplicate: true}
	}
	return known, true, err
}

// conflict settles a failed expectation: either the commit is the aggregate's
// last one, or the aggregate is elsewhere than expected. If it is where
// expected, nothing is settled.
func (l *Log) conflict(ctx context.Context, c events.Commit, expect events.Expect, subject string) (events.Ack, bool, error) {
	var actual uint64
	m, err := l.last(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return events.Ack{}, false, translate("append commit", err)
	case c.ID != "" && first(m.Header[headerID]) == c.ID:
		return events.Ack{Position: m.Sequence, Duplicate: true}, true, nil
	default:
		actual = m.Sequence
	}
	if actual == uint64(expect) {
		return events.Ack{}, false, nil
	}
	return events.Ack{}, true, &events.ConflictError{Aggregate: c.Aggregate, Expected: expect, Actual: actual}
}

func encode(p events.Pending) (*nats.Msg, error) {
	m, err := p.Encode()
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: m.Subject, Header: encodeHeader(m.Header), Data: m.Data}
	setExpect(msg.Header, p.Expect)
	return msg, nil
}

// errRival is a conflict that does not become readable.
var errRival = errors.New("a rival write does not settle")

// retry waits before a write is tried again after a conflict with one that is
// not to be seen yet.
func retry(ctx context.Context, try int) error {
	if try >= conflictRetries {
		return errRival
	}
	return wait(ctx, conflictWait)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // callers translate.
	}
}
