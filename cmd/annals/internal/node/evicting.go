package node

import (
	"context"
	"iter"
	"time"

	"github.com/annals-memory/annals/events"
)

// evicter forgets what is cached of keys; a keyring is one.
type evicter interface {
	Evict(tenant, sid string)
	EvictRecord(tenant string, records ...string)
	EvictExpired()
}

// evicting is the log as the views follow it. Before it hands on a tombstone,
// whichever process wrote it, it tells the keyring, so that a view that has
// folded a tombstone is a view whose node caches no key of what is gone. Three
// views tell it three times, which costs nothing.
type evicting struct {
	events.Follower

	keys evicter
}

// Follow implements [events.Follower].
func (l evicting) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range l.Follower.Follow(ctx, after) {
			if err == nil && endsKeys(m.Header.Types) {
				l.evict(&m)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// endsKeys says whether keys may be destroyed after an event of these types. A
// message that does not say its types is looked into.
func endsKeys(types []string) bool {
	for _, t := range types {
		switch t {
		case events.TypeSubjectForgotten, events.TypeConsentWithdrawn, events.TypeEpisodeForgotten,
			events.TypeFactForgotten, events.TypeFactSourceLost:
			return true
		}
	}
	return len(types) == 0
}

func (l evicting) evict(m *events.Message) {
	r, err := events.Decode(*m)
	if err != nil {
		return // the view parks it, and shows that something is wrong
	}
	tenant := r.Aggregate.Tenant
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.SubjectForgotten, events.ConsentWithdrawn:
			l.keys.Evict(tenant, r.Aggregate.ID)
		case events.EpisodeForgotten:
			l.keys.EvictRecord(tenant, r.Aggregate.ID)
		case events.FactForgotten:
			l.keys.EvictRecord(tenant, e.Fact)
		case events.FactSourceLost:
			l.keys.EvictRecord(tenant, e.Fact) // its last one, for all that is known here
		default: // no other ends a key
		}
	}
}

// evictEvery is how often keys whose time is over are taken out of memory.
const evictEvery = time.Minute

// evictExpired does that until the context ends.
func (n *Node) evictExpired(ctx context.Context) error {
	tick := time.NewTicker(evictEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n.keys.EvictExpired()
		case <-ctx.Done():
			return nil
		}
	}
}
