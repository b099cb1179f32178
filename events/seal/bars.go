package seal

import (
	"sync"
	"time"
)

// maxBars bounds how many bars are held at once. The oldest goes first, and
// what it barred is back under the rule of the time to live.
const maxBars = 16_384

// bars says what must not be cached for a while, because a tombstone says that
// its key is about to be destroyed, by whichever process. Between a tombstone
// and the end of the key the row is still there for whoever asks, and would be
// kept past its end.
type bars struct {
	ttl time.Duration

	mu    sync.Mutex
	until map[string]time.Time
	// order holds the names in the order in which they were barred, a name once
	// for each time.
	order []bar
}

type bar struct {
	name  string
	until time.Time
}

func newBars(ttl time.Duration) *bars { return &bars{ttl: ttl, until: make(map[string]time.Time)} }

// set bars a name for the time to live.
func (b *bars) set(name string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	until := now.Add(b.ttl)
	b.until[name] = until
	b.order = append(b.order, bar{name: name, until: until})
	for len(b.order) > 0 && (len(b.order) > maxBars || !now.Before(b.order[0].until)) {
		oldest := b.order[0]
		b.order = b.order[1:]
		if b.until[oldest.name].Equal(oldest.until) { // not barred again since
			delete(b.until, oldest.name)
		}
	}
}

func (b *bars) has(name string, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, ok := b.until[name]
	return ok && now.Before(until)
}
