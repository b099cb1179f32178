package producers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// maxTracesBetween bounds how far behind the place that its id names a trace is
// looked for: only what was appended to the tenant's traces while its recall
// was under way can stand between, or, where several gateways record, while the
// views were behind. An id can be made up.
const maxTracesBetween = 1_000

func tracesOf(tenant string) events.Aggregate {
	return events.Aggregate{Tenant: tenant, Kind: events.KindTrace, ID: events.SharedID}
}

// traceLabel is where the sealed question of a trace belongs. A trace has no
// key of its own, for it would cost a row for every question ever asked: it is
// sealed under that of its subject's first event.
func traceLabel(subject, trace string) seal.Label {
	l := label(events.KindTrace, subject, events.TypeTraceRecalled)
	l.Part = trace
	return l
}

// traceKey is the key that seals the traces of a subject, or of the tenant as a
// whole. A subject without one was forgotten, or nothing is known about it yet.
//
// The key may come from the cache, and the log is not asked whether the subject
// lives: a recall would wait for both. Nothing is lost by it. A question that is
// sealed after the tombstone is sealed under the very key whose end the forget
// is, so that it ends with it, or has ended with it if another process was
// faster; every view masks the trace, for it comes after the tombstone; and who
// asks has looked for the tombstone in the views that the answer is from.
func (g *Gateway) traceKey(ctx context.Context, t *seal.Tenant, sid string) (*seal.Record, error) {
	if sid == "" {
		return g.tenantKey(ctx, t)
	}
	rec, err := g.keys.CachedRecord(ctx, t.Token(), sid)
	if isDestroyed(err) {
		return nil, events.ErrForgotten
	}
	if err != nil {
		return nil, fmt.Errorf("find subject key: %w", err)
	}
	return rec, nil
}

// tenantKey finds or makes the key of the subject that stands for the tenant.
// That subject is in no log and is never forgotten by itself.
func (g *Gateway) tenantKey(ctx context.Context, t *seal.Tenant) (*seal.Record, error) {
	sid, err := g.subjectID(ctx, t, reservedName)
	if err != nil {
		return nil, err
	}
	rec, err := g.keys.CachedRecord(ctx, t.Token(), sid)
	if gone, ok := errors.AsType[*seal.KeyDestroyedError](err); ok && gone.Level != seal.LevelTenant {
		rec, err = g.newSubjectKey(ctx, t, sid)
	}
	if err != nil {
		return nil, fmt.Errorf("find tenant key: %w", err)
	}
	return rec, nil
}

// newTraceID makes the id of a trace that is about to be appended: a position
// behind which it will be found, with few traces of the tenant between, and what
// is random in a fresh id, as a UUID of version 8.
func (g *Gateway) newTraceID(ctx context.Context, tenant string, readAt uint64) (string, error) {
	after, ok := g.traced.hint(tenant, readAt, g.now())
	if !ok {
		last, err := g.log.Last(ctx, tracesOf(tenant))
		switch {
		case err == nil:
			after = last.Position
		case errors.Is(err, events.ErrNoCommits):
		case errors.Is(err, events.ErrCorrupt), errors.Is(err, events.ErrUnknownType):
			after = readAt // what cannot be read must not keep others from being recorded
		default:
			return "", fmt.Errorf("read last trace: %w", err)
		}
	}
	fresh := token.CanonicalID(g.newID())
	if fresh == "" || after > maxTraceHint {
		return "", fmt.Errorf("make trace id: %w", events.ErrInvalid)
	}
	h := fmt.Sprintf("%012x", after)
	return h[:8] + "-" + h[8:] + "-8" + fresh[15:], nil
}

// traced remembers where each tenant's last trace is that this gateway recorded,
// so that the next one need not ask the log. It is emptied when it is full.
type traced struct {
	mu   sync.Mutex
	last map[string]tracedAt
}

type tracedAt struct {
	position uint64
	at       time.Time
}

// tracedFor is how long a trace of this gateway tells by itself where the next
// one will be.
const tracedFor = time.Second

// hint is a position behind which the tenant's next trace will be, with few
// traces between: what this gateway recorded last, or what the answer was read
// at, if that is later. ok is false if neither says enough: without a trace of
// this gateway nothing tells how far behind the views are, and views that have
// not come to it within a second are behind, while others may have recorded any
// number. Then only the log can say.
func (t *traced) hint(tenant string, readAt uint64, now time.Time) (after uint64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.last[tenant]
	if !ok || readAt < last.position && now.Sub(last.at) >= tracedFor {
		return 0, false
	}
	return max(readAt, last.position), true
}

func (t *traced) note(tenant string, position uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil || len(t.last) >= maxTenantNames {
		t.last = make(map[string]tracedAt)
	}
	if position > t.last[tenant].position {
		t.last[tenant] = tracedAt{position: position, at: now}
	}
}

// maxTraceHint is the largest position that fits into 48 bits.
const maxTraceHint = 1<<48 - 1

// traceHint is the position behind which the trace of that canonical id is, if
// it is the id of a trace at all.
func traceHint(id string) (uint64, bool) {
	after, err := strconv.ParseUint(id[:8]+id[9:13], 16, 64)
	return after, err == nil && id[14] == '8'
}

// findTrace finds the key of a trace of the tenant. One that no key opens any
// more is events.ErrForgotten.
func (g *Gateway) findTrace(ctx context.Context, t *seal.Tenant, id string) (*seal.Record, error) {
	if id = token.CanonicalID(id); id == "" {
		return nil, events.ErrNotFound
	}
	e, err := g.readTrace(ctx, t.Token(), id)
	if err != nil {
		return nil, err
	}
	rec, err := g.keys.Record(ctx, t.Token(), e.Subject)
	if isDestroyed(err) {
		return nil, events.ErrForgotten
	}
	if err != nil {
		return nil, fmt.Errorf("find trace: %w", err)
	}
	plain, err := rec.Open(traceLabel(e.Subject, id), e.Content)
	clear(plain)
	if err != nil {
		return nil, fmt.Errorf("open trace: %w", err)
	}
	return rec, nil
}

func (g *Gateway) readTrace(ctx context.Context, tenant, id string) (events.TraceRecalled, error) {
	after, ok := traceHint(id)
	if !ok {
		return events.TraceRecalled{}, events.ErrNotFound
	}
	seen := 0
	for r, err := range g.log.ReadAggregate(ctx, tracesOf(tenant), after) {
		if err != nil {
			return events.TraceRecalled{}, fmt.Errorf("find trace: %w", err)
		}
		for _, e := range r.Events {
			if e, ok := e.(events.TraceRecalled); ok && e.Trace == id {
				return e, nil
			}
		}
		if seen++; seen == maxTracesBetween {
			break
		}
	}
	return events.TraceRecalled{}, events.ErrNotFound
}
