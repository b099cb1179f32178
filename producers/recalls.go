package producers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
)

// recalls keeps, for each principal, the recalls of the last 15 minutes that can
// matter. It reads the log whenever it is asked, from where it last was, so that it
// is never behind, whoever recorded the recall and whenever this process was
// started.
type recalls struct {
	mu      sync.Mutex
	tenants map[string]*tenantRecalls
}

type tenantRecalls struct {
	mu sync.Mutex
	// position is that of the last trace that was looked at.
	position uint64
	// by has the recalls of each principal, oldest first. A recall that a later one
	// of no higher trust follows does not matter any more, so that there are at most
	// as many of them as there are trusts.
	by map[string][]recallMark
}

type recallMark struct {
	trace  string
	lowest events.Trust
	at     time.Time
}

// maxPrincipals bounds the principals of a tenant that are kept before the recalls
// of those that have none left are let go.
const maxPrincipals = 1_024

func newRecalls() *recalls { return &recalls{tenants: make(map[string]*tenantRecalls)} }

// lately is what a principal has heard since RecallWindow before now, or before
// the log's last time of record if that is earlier: recalls have the log's time, and
// a clock that is ahead of it must not hide them. So where nothing was recorded
// since, a recall counts for longer. A trace that cannot be read may have said
// anything.
//
// It costs one request of the log, unless the principal has a recall that the clock
// calls old: then the log is asked for its time as well.
func (r *recalls) lately(ctx context.Context, log Log, tenant, principal string, now time.Time) (heard, error) {
	t, err := r.tenant(ctx, log, tenant, now)
	if err != nil {
		return heard{}, err
	}
	t.mu.Lock()
	after := t.position
	t.mu.Unlock()
	for rec, err := range log.ReadAggregate(ctx, tracesOf(tenant), after) {
		if errors.Is(err, events.ErrCorrupt) || errors.Is(err, events.ErrUnknownType) {
			return heard{lowest: events.TrustExternal}, nil
		}
		if err != nil {
			return heard{}, fmt.Errorf("read recalls: %w", err)
		}
		t.note(&rec)
	}
	if t.isOlder(principal, now.Add(-RecallWindow)) {
		last, err := lastRecorded(ctx, log, now)
		if err != nil {
			return heard{}, err
		}
		if last.Before(now) {
			now = last
		}
		t.prune(principal, now.Add(-RecallWindow))
	}
	return t.of(principal), nil
}

// tenant is what is kept of a tenant. It begins shortly before RecallWindow before
// now, or before the log's last time of record.
func (r *recalls) tenant(ctx context.Context, log Log, tenant string, now time.Time) (*tenantRecalls, error) {
	r.mu.Lock()
	t, ok := r.tenants[tenant]
	r.mu.Unlock()
	if ok {
		return t, nil
	}
	last, err := lastRecorded(ctx, log, now)
	if err != nil {
		return nil, err
	}
	if last.Before(now) {
		now = last
	}
	position, err := positionBefore(ctx, log, now.Add(-RecallWindow))
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.tenants[tenant]; ok {
		return t, nil
	}
	if len(r.tenants) >= maxTenantNames {
		clear(r.tenants) // they are read again from the log
	}
	t = &tenantRecalls{position: position, by: make(map[string][]recallMark)}
	r.tenants[tenant] = t
	return t, nil
}

// note enters a commit, unless another reader was faster.
func (t *tenantRecalls) note(r *events.Recorded) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Position <= t.position {
		return
	}
	t.position = r.Position
	for _, e := range r.Events {
		e, ok := e.(events.TraceRecalled)
		if !ok {
			continue
		}
		lowest := lowestOf(&e, events.TrustExternal)
		if lowest == 0 {
			continue // it had no answer
		}
		marks := t.by[r.Principal]
		for len(marks) > 0 && marks[len(marks)-1].lowest >= lowest {
			marks = marks[:len(marks)-1]
		}
		t.by[r.Principal] = append(marks, recallMark{trace: e.Trace, lowest: lowest, at: r.RecordedAt})
	}
	if len(t.by) > maxPrincipals {
		// The log's last time of record is not before this one.
		for p := range t.by {
			t.drop(p, r.RecordedAt.Add(-RecallWindow))
		}
	}
}

// isOlder says whether a principal has a recall from before a time.
func (t *tenantRecalls) isOlder(principal string, than time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	marks := t.by[principal]
	return len(marks) > 0 && marks[0].at.Before(than)
}

// prune lets go of a principal's recalls from before a time.
func (t *tenantRecalls) prune(principal string, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(principal, since)
}

// drop is prune for who holds the lock.
func (t *tenantRecalls) drop(principal string, since time.Time) {
	marks := t.by[principal]
	for len(marks) > 0 && marks[0].at.Before(since) {
		marks = marks[1:]
	}
	if t.by[principal] = marks; len(marks) == 0 {
		delete(t.by, principal)
	}
}

func (t *tenantRecalls) of(principal string) heard {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out heard
	for _, m := range t.by[principal] {
		out.traces = append(out.traces, m.trace)
		out.lowest = lower(out.lowest, m.lowest)
	}
	return out
}

// lastRecorded is when the log recorded its last message that is still there, or
// the time that is given if there is none.
func lastRecorded(ctx context.Context, log Log, none time.Time) (time.Time, error) {
	state, err := log.State(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read state of the log: %w", err)
	}
	for at := state.Last; at > 0 && at >= state.First; at-- {
		_, m, err := nextMessage(ctx, log, at, at+1)
		if err != nil {
			return time.Time{}, err
		}
		if m != nil {
			return m.RecordedAt, nil
		}
	}
	return none, nil
}

// maxHole is how many positions in a row are tried for a message that was not
// removed.
const maxHole = 16

// positionBefore is a position before which everything was recorded before a time:
// the last such, if nothing was removed around it. The log's time does not go back
// with the position.
func positionBefore(ctx context.Context, log Log, t time.Time) (uint64, error) {
	state, err := log.State(ctx)
	if err != nil {
		return 0, fmt.Errorf("read state of the log: %w", err)
	}
	before, after := uint64(0), state.Last+1
	if state.First > 0 {
		before = state.First - 1
	}
	for after-before > 1 {
		mid := before + (after-before)/2
		at, m, err := nextMessage(ctx, log, mid, min(after, mid+maxHole))
		switch {
		case err != nil:
			return 0, err
		case m == nil || !m.RecordedAt.Before(t):
			after = mid
		default:
			before = at
		}
	}
	return before, nil
}

// nextMessage is the first message from a position on, up to another, nil if there
// is none.
func nextMessage(ctx context.Context, log Log, from, to uint64) (uint64, *events.Message, error) {
	for at := from; at < to; at++ {
		m, err := log.MessageAt(ctx, at)
		if errors.Is(err, events.ErrNoCommits) {
			continue
		}
		if err != nil {
			return 0, nil, fmt.Errorf("read time of record: %w", err)
		}
		return at, &m, nil
	}
	return 0, nil, nil
}
