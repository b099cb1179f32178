package seal

import (
	"container/list"
	"sync"
	"time"
)

// chainKey is a K1 or a K2, unwrapped. While a rotation is under way the key
// before is there too, so that children of both can be opened.
type chainKey struct {
	current  Secret
	previous Secret
	// seed is the tenant's index seed, of a K1 only. It outlives rotation, so
	// that hashes stay what they are.
	seed Secret
	// lineage is drawn with a K2 and outlives rotation: it tells the K2 that a
	// record was made under from one made after that was destroyed.
	lineage lineage
}

const lineageSize = 8

type lineage [lineageSize]byte

func (c chainKey) clone() chainKey {
	c.current, c.previous, c.seed = c.current.clone(), c.previous.clone(), c.seed.clone()
	return c
}

func (c chainKey) wipe() {
	c.current.wipe()
	c.previous.wipe()
	c.seed.wipe()
}

// cache holds unwrapped keys by row key: bounded, least recently used goes
// first, each no longer than its time to live from when its row was asked for.
// What is handed out is a copy, so that keys can be wiped when they leave.
type cache struct {
	size   int
	ttl    time.Duration
	barred *bars

	mu      sync.Mutex
	entries map[string]*list.Element
	recent  *list.List
	epoch   uint64
}

type cacheEntry struct {
	key     string
	chain   chainKey
	expires time.Time
}

func newCache(size int, ttl time.Duration, barred *bars) *cache {
	return &cache{size: size, ttl: ttl, barred: barred, entries: make(map[string]*list.Element), recent: list.New()}
}

// begin is called before a row is fetched; its answer goes into put.
func (c *cache) begin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// get returns a copy that the caller wipes.
func (c *cache) get(key string, now time.Time) (chainKey, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	elem, ok := c.entries[key]
	if !ok {
		return chainKey{}, false
	}
	entry, ok := elem.Value.(*cacheEntry)
	if !ok || !now.Before(entry.expires) {
		c.remove(elem)
		return chainKey{}, false
	}
	c.recent.MoveToFront(elem)
	return entry.chain.clone(), true
}

// put keeps a copy, unless something was evicted since begin: the row may have
// been read before it was destroyed. Nor is a key kept whose subject is barred.
func (c *cache) put(key string, chain chainKey, asked time.Time, epoch uint64) {
	if c.isBarred(key, asked) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size <= 0 || c.epoch != epoch {
		return
	}
	if elem, ok := c.entries[key]; ok {
		c.remove(elem)
	}
	c.entries[key] = c.recent.PushFront(&cacheEntry{key: key, chain: chain.clone(), expires: asked.Add(c.ttl)})
	for c.recent.Len() > c.size {
		c.remove(c.recent.Back())
	}
}

// isBarred says whether a key is the K2 of a barred subject.
func (c *cache) isBarred(key string, now time.Time) bool {
	scope, err := splitSubjectKey(key)
	return err == nil && c.barred.has(ownerOf(scope.Tenant, scope.Subject), now)
}

// evict drops the keys under a prefix of whole tokens.
func (c *cache) evict(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for key, elem := range c.entries {
		if HasPrefix(key, prefix) {
			c.remove(elem)
		}
	}
}

// expire drops the keys whose time is over.
func (c *cache) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, elem := range c.entries {
		if entry, ok := elem.Value.(*cacheEntry); ok && !now.Before(entry.expires) {
			c.remove(elem)
		}
	}
}

func (c *cache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

func (c *cache) remove(elem *list.Element) {
	if entry, ok := c.recent.Remove(elem).(*cacheEntry); ok {
		delete(c.entries, entry.key)
		entry.chain.wipe()
	}
}
