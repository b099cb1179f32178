package natslog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/annals-memory/annals/events"
)

const (
	// One request asks for pullMessages, and the next is sent when half of
	// them have come, so that the server never waits.
	pullMessages = 8192
	pullBytes    = 32 << 20
	pullExpires  = 30 * time.Second
	// After two heartbeats that did not come the consumer is made anew.
	heartbeat         = 5 * time.Second
	inactiveThreshold = 2 * time.Minute

	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
)

// errReset makes a follower replace its consumer.
var errReset = errors.New("consumer lost")

// Follow yields every message above after and waits for more; see
// events.Follower. When the context ends, so does the sequence, without an
// error. A lost consumer or connection is replaced for as long as the context
// lasts; only the first attempt fails with events.ErrUnavailable. A closed
// connection ends it with that too, and ErrRewound does if the log was
// replaced or ends before what was read.
func (l *Log) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		f := &follower{store: l.store, read: after}
		defer f.stop(ctx)
		backoff := firstBackoff
		for {
			err := f.start(ctx)
			if err == nil {
				from := f.read
				err = f.drain(ctx, yield)
				if f.read > from {
					backoff = firstBackoff
				}
			} else if !f.begun && ctx.Err() == nil {
				yield(events.Message{}, translate("follow log", err))
				return
			}
			switch {
			case ctx.Err() != nil || err == nil:
				return
			case errors.Is(err, ErrRewound), f.nc.IsClosed():
				yield(events.Message{}, closing(err))
				return
			}
			if wait(ctx, backoff) != nil {
				return
			}
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

func closing(err error) error {
	if errors.Is(err, ErrRewound) {
		return fmt.Errorf("follow log: %w", err)
	}
	return translate("follow log", nats.ErrConnectionClosed)
}

// follower is one ordered reader: a consumer without acknowledgements whose
// delivery numbers must have no gap, replaced from the last message read
// whenever they have.
type follower struct {
	*store
	read     uint64 // the position yielded last
	yielded  bool
	begun    bool
	consumer string
	sub      *nats.Subscription
	messages chan *nats.Msg
	status   chan nats.Status
	inbox    string
	wanted   int    // messages requested and not yet delivered
	delivery uint64 // the delivery number of the last message
}

// start makes a consumer that begins after the last message read.
func (f *follower) start(ctx context.Context) error {
	f.stop(ctx)
	if f.begun {
		if err := f.verify(ctx); err != nil {
			return err
		}
	}
	f.messages = make(chan *nats.Msg, 2*pullMessages+1024)
	f.inbox = f.nc.NewInbox()
	sub, err := f.nc.ChanSubscribe(f.inbox, f.messages)
	if err != nil {
		return err //nolint:wrapcheck // Follow translates.
	}
	f.sub = sub
	f.status = f.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	f.consumer = "annals-" + nuid.Next()
	bounded, cancel := f.bound(ctx)
	defer cancel()
	_, err = f.js.CreateConsumer(bounded, f.name, jetstream.ConsumerConfig{
		Name: f.consumer, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.read + 1,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: inactiveThreshold,
	})
	if err != nil {
		return err //nolint:wrapcheck // Follow translates.
	}
	f.begun, f.delivery, f.wanted = true, 0, 0
	return f.pull(pullMessages)
}

// verify makes sure that what was read is still the log's past.
func (f *follower) verify(ctx context.Context) error {
	ctx, cancel := f.bound(ctx)
	defer cancel()
	info, err := f.stream.Info(ctx)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return ErrRewound
	case err != nil:
		return err //nolint:wrapcheck // Follow translates.
	case identity(info) != f.identity, f.yielded && info.State.LastSeq < f.read:
		return ErrRewound
	}
	return nil
}

// stop gives up the consumer. The server would drop it by itself, later.
func (f *follower) stop(ctx context.Context) {
	if f.sub == nil {
		return
	}
	_ = f.sub.Unsubscribe() // It fails only if the connection is closed.
	f.nc.RemoveStatusListener(f.status)
	f.sub = nil
	if f.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxBackoff)
		defer cancel()
		_ = f.js.DeleteConsumer(ctx, f.name, f.consumer) // It may be gone.
	}
}

// drain yields until the context or the caller ends it, with nil, or the
// consumer is lost.
func (f *follower) drain(ctx context.Context, yield func(events.Message, error) bool) error {
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	silent := 0
	for {
		var m *nats.Msg
		select {
		case m = <-f.messages:
			if ctx.Err() != nil {
				return nil
			}
		default:
			select {
			case m = <-f.messages:
			case <-ctx.Done():
				return nil
			case <-f.status:
				return errReset
			case <-alive.C:
				if silent++; silent > 2 {
					return errReset
				}
				continue
			}
		}
		silent = 0
		if m.Reply == "" || len(m.Reply) < len(ackPrefix) || m.Reply[:len(ackPrefix)] != ackPrefix {
			if err := f.control(m); err != nil {
				return err
			}
			continue
		}
		d, ok := parseReply(m.Reply)
		if !ok || d.delivery != f.delivery+1 {
			return errReset
		}
		if d.position <= f.read {
			return ErrRewound
		}
		f.delivery, f.read, f.yielded = d.delivery, d.position, true
		f.wanted--
		if f.wanted <= pullMessages/2 {
			if err := f.pull(pullMessages / 2); err != nil {
				return err
			}
		}
		if !yield(d.message(m), nil) {
			return nil
		}
	}
}

// control handles a message of the server itself: a heartbeat, or the end of a
// request.
func (f *follower) control(m *nats.Msg) error {
	status := first(m.Header["Status"])
	if status == "100" {
		return nil
	}
	text := strings.ToLower(first(m.Header["Description"]))
	ended := status == "404" || status == "408" || (status == "409" &&
		(strings.Contains(text, "maxbytes") || strings.Contains(text, "batch completed")))
	if !ended {
		return errReset
	}
	left, err := strconv.Atoi(first(m.Header["Nats-Pending-Messages"]))
	if err != nil {
		return errReset
	}
	f.wanted = max(f.wanted-left, 0)
	if f.wanted <= pullMessages/2 {
		return f.pull(pullMessages - f.wanted)
	}
	return nil
}

func (f *follower) pull(n int) error {
	body := fmt.Appendf(nil, `{"batch":%d,"max_bytes":%d,"expires":%d,"idle_heartbeat":%d}`,
		n, pullBytes, pullExpires, heartbeat)
	subject := "$JS.API.CONSUMER.MSG.NEXT." + f.name + "." + f.consumer
	if err := f.nc.PublishRequest(subject, f.inbox, body); err != nil {
		return err //nolint:wrapcheck // Follow translates.
	}
	f.wanted += n
	return nil
}

const ackPrefix = "$JS.ACK."

// delivered is what stands in the reply subject of a delivered message.
type delivered struct {
	position, delivery, pending uint64
	nanos                       int64
}

func (d delivered) message(m *nats.Msg) events.Message {
	return events.Message{
		Subject: m.Subject, Header: decodeHeader(m.Header), Data: m.Data,
		Position: d.position, RecordedAt: time.Unix(0, d.nanos).UTC(), Pending: d.pending,
	}
}

// parseReply reads $JS.ACK.<stream>.<consumer>.<n>.<stream seq>.<consumer
// seq>.<time>.<pending>, or the longer form with a domain and an account before
// the stream and perhaps a token at the end.
func parseReply(reply string) (delivered, bool) {
	const short, long = 9, 11
	skip := short - 4
	if n := strings.Count(reply, ".") + 1; n >= long {
		skip = long - 4
	} else if n != short {
		return delivered{}, false
	}
	rest := reply
	for range skip {
		_, rest, _ = strings.Cut(rest, ".")
	}
	var fields [4]uint64
	for i := range fields {
		var token string
		token, rest, _ = strings.Cut(rest, ".")
		n, err := strconv.ParseUint(token, 10, 63)
		if err != nil {
			return delivered{}, false
		}
		fields[i] = n
	}
	return delivered{
		position: fields[0], delivery: fields[1], pending: fields[3],
		nanos: int64(fields[2]), //nolint:gosec // parsed with 63 bits.
	}, true
}
