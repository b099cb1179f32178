package natslog

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/annals-memory/annals/events"
)

// Ledger is the stream LEDGER: value-free records of which none can be removed,
// so that its sequences have no gap. Subjects are given and returned without
// their prefix. It knows nothing of what the records say. It is safe for
// concurrent use.
type Ledger struct {
	*store
}

// Ledger is the stream of value-free records.
func (s *Streams) Ledger() *Ledger { return &Ledger{store: s.byName[streamLedger]} }

// Append adds one record and returns its sequence when it is acknowledged at
// the log's durability. It fails with events.ErrConflict if the last record on
// the subject is not the one expected, and with events.ErrBadToken for what is
// no subject. After events.ErrUnavailable it may have taken effect. There is no
// duplicate detection.
func (l *Ledger) Append(ctx context.Context, subject string, data []byte, expect events.Expect) (uint64, error) {
	for token := range strings.SplitSeq(subject, ".") {
		if !events.ValidToken(token) {
			return 0, fmt.Errorf("append to ledger: %w: subject", events.ErrBadToken)
		}
	}
	m := &nats.Msg{Subject: prefixLedger + subject, Header: nats.Header{}, Data: data}
	setExpect(m.Header, expect)
	ack, err := l.publish(ctx, m)
	switch {
	case err != nil && isConflict(err):
		return 0, fmt.Errorf("append to ledger: %w", events.ErrConflict)
	case err != nil:
		return 0, l.unanswered("append to ledger", err)
	}
	return ack.Sequence, nil
}

// Read yields the records above after that are on a subject, which may end in a
// wildcard, or on any if it is "", in order, up to the last one that was
// acknowledged before the call or later. A position is the ledger's.
func (l *Ledger) Read(ctx context.Context, subject string, after uint64) iter.Seq2[events.Message, error] {
	if subject == "" {
		subject = ">"
	}
	return func(yield func(events.Message, error) bool) {
		for size := firstRecords; ; size = min(2*size, pageMessages) {
			page, err := l.collectUpTo(ctx, prefixLedger+subject, after+1, size)
			if err != nil {
				yield(events.Message{}, translate("read ledger", err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, m := range page {
				out := fromRaw(m)
				out.Subject = strings.TrimPrefix(m.Subject, prefixLedger)
				if !yield(out, nil) {
					return
				}
			}
			after = page[len(page)-1].Sequence
		}
	}
}

// firstRecords is how many records are asked for at first: who looks for the
// leaves of one block needs no more, and a record may be large.
const firstRecords = 2

// State tells where the ledger stands.
func (l *Ledger) State(ctx context.Context) (events.State, error) { return l.state(ctx) }

// State tells where the rows stand: the position is that of the last write of
// any row, and never goes back.
func (k *Keys) State(ctx context.Context) (events.State, error) { return k.state(ctx) }

func (s *store) state(ctx context.Context) (events.State, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	info, err := s.stream.Info(ctx)
	if err != nil {
		return events.State{}, translate("read state", err)
	}
	return events.State{
		Identity: identity(info),
		First:    info.State.FirstSeq, Last: info.State.LastSeq,
		Messages: info.State.Msgs, Bytes: info.State.Bytes,
	}, nil
}
