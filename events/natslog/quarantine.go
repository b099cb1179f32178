package natslog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// Quarantine holds encoded commits that are not trusted yet. They expire after
// 15 minutes.
type Quarantine struct {
	*store
}

// Quarantined is one commit in quarantine. The position in its message is the
// quarantine's, not the log's.
type Quarantined struct {
	ID      string
	Message events.Message
}

// Age is for how long a message is kept.
func (q *Quarantine) Age() time.Duration { return quarantineAge }

// Put adds a message under an id. Putting the same commit again is success;
// another commit under the id is events.ErrConflict.
func (q *Quarantine) Put(ctx context.Context, tenant, id string, m events.Message) error {
	subject, err := quarantineSubject(tenant, id)
	if err != nil {
		return fmt.Errorf("put in quarantine: %w", err)
	}
	if !events.ValidTraceParent(m.Header.TraceParent) {
		return fmt.Errorf("put in quarantine: %w: trace parent", events.ErrInvalid)
	}
	if _, err := events.ParseSubject(m.Subject); err != nil {
		return fmt.Errorf("put in quarantine: %w", err)
	}
	msg := &nats.Msg{Subject: subject, Header: encodeHeader(m.Header), Data: m.Data}
	msg.Header[headerSubject] = []string{m.Subject}
	setExpect(msg.Header, events.ExpectNew)
	for try := 0; ; try++ {
		_, err := q.publish(ctx, msg)
		if err == nil {
			return nil
		}
		if !isConflict(err) {
			return q.unanswered("put in quarantine", err)
		}
		there, err := q.Get(ctx, tenant, id)
		switch {
		case errors.Is(err, events.ErrNoCommits):
		case err != nil:
			return err
		case there.Header.ID == m.Header.ID && there.Subject == m.Subject:
			return nil
		default:
			return fmt.Errorf("put in quarantine: %w", events.ErrConflict)
		}
		if err := retry(ctx, try); err != nil {
			return translate("put in quarantine", err)
		}
	}
}

// Get returns the message under an id, or events.ErrNoCommits.
func (q *Quarantine) Get(ctx context.Context, tenant, id string) (events.Message, error) {
	subject, err := quarantineSubject(tenant, id)
	if err != nil {
		return events.Message{}, fmt.Errorf("get from quarantine: %w", err)
	}
	m, err := q.last(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return events.Message{}, fmt.Errorf("get from quarantine: %w", events.ErrNoCommits)
	case err != nil:
		return events.Message{}, translate("get from quarantine", err)
	}
	return fromQuarantine(m).Message, nil
}

// List yields what a tenant has in quarantine, oldest first.
func (q *Quarantine) List(ctx context.Context, tenant string) iter.Seq2[Quarantined, error] {
	return func(yield func(Quarantined, error) bool) {
		if !events.ValidToken(tenant) {
			yield(Quarantined{}, fmt.Errorf("list quarantine: %w: tenant", events.ErrBadToken))
			return
		}
		for from := uint64(1); ; {
			page, err := q.collect(ctx, prefixQuarantine+tenant+".*", from)
			if err != nil {
				yield(Quarantined{}, translate("list quarantine", err))
				return
			}
			if len(page) == 0 {
				return
			}
			for _, m := range page {
				if !yield(fromQuarantine(m), nil) {
					return
				}
			}
			from = page[len(page)-1].Sequence + 1
		}
	}
}

// Remove deletes the message under an id and its bytes. Absent is success.
func (q *Quarantine) Remove(ctx context.Context, tenant, id string) error {
	subject, err := quarantineSubject(tenant, id)
	if err != nil {
		return fmt.Errorf("remove from quarantine: %w", err)
	}
	if err := q.erase(ctx, subject, math.MaxUint64); err != nil {
		return translate("remove from quarantine", err)
	}
	return nil
}

func quarantineSubject(tenant, id string) (string, error) {
	if !events.ValidToken(tenant) || !events.ValidToken(id) {
		return "", fmt.Errorf("%w: tenant or id", events.ErrBadToken)
	}
	return prefixQuarantine + tenant + "." + id, nil
}

func fromQuarantine(m *jetstream.RawStreamMsg) Quarantined {
	out := fromRaw(m)
	out.Subject = first(m.Header[headerSubject])
	return Quarantined{ID: m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], Message: out}
}
