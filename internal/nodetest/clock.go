package nodetest

import (
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
)

// Clock is a clock that moves by a millisecond each time it is read, so that
// every commit has a time of its own, and by days when it is told to.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that begins at noon of 1 March 2026.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the next time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

// Days moves the clock.
func (c *Clock) Days(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.AddDate(0, 0, n)
}

// Day is noon of a day of January 2026.
func Day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

// At is a time as requests have it.
func At(t time.Time) *events.Time {
	x := events.At(t)
	return &x
}
