package nodetest

import (
	"context"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
)

// Quarantine is a producers.Quarantine in memory. Nothing leaves it by itself.
type Quarantine struct {
	now  func() time.Time
	mu   sync.Mutex
	held map[string]events.Message
}

// NewQuarantine returns an empty quarantine, whose clock is now.
func NewQuarantine(now func() time.Time) *Quarantine {
	return &Quarantine{now: now, held: make(map[string]events.Message)}
}

// Len is how many wait.
func (q *Quarantine) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.held)
}

// Expire lets go of everything.
func (q *Quarantine) Expire() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.held)
}

// Age is for how long something waits.
func (*Quarantine) Age() time.Duration { return 15 * time.Minute }

// Put keeps a message, if it is the first under its id. Another commit under the id
// is events.ErrConflict.
func (q *Quarantine) Put(_ context.Context, tenant, id string, m events.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	key := tenant + "." + id
	switch there, ok := q.held[key]; {
	case !ok:
		m.RecordedAt = q.now()
		q.held[key] = m
	case there.Header.ID != m.Header.ID:
		return events.ErrConflict
	}
	return nil
}

// Get returns what waits under an id, or events.ErrNoCommits.
func (q *Quarantine) Get(_ context.Context, tenant, id string) (events.Message, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m, ok := q.held[tenant+"."+id]
	if !ok {
		return events.Message{}, events.ErrNoCommits
	}
	return m, nil
}

// Remove lets go of what waits under an id, if anything does.
func (q *Quarantine) Remove(_ context.Context, tenant, id string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.held, tenant+"."+id)
	return nil
}
