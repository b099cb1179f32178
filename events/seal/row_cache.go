package seal

import (
	"bytes"
	"container/list"
	"sync"
	"time"
)

// rowCache holds rows as they are stored, sealed: those of records and of
// subjects' names. What is in it opens nothing without the key above it, which
// [cache] holds by rules of its own. Bounded, least recently used goes first,
// each no longer than its time to live from when it was asked for. Rows belong
// to an owner, a subject, with whom they go.
//
// Only rows that were there are kept: that a row is missing is never remembered.
type rowCache struct {
	size   int
	ttl    time.Duration
	barred *bars

	mu      sync.Mutex
	entries map[string]*list.Element
	owned   map[string]map[string]struct{}
	recent  *list.List
	epoch   uint64
}

type rowEntry struct {
	key, owner string
	value      []byte
	expires    time.Time
}

func newRowCache(size int, ttl time.Duration, barred *bars) *rowCache {
	return &rowCache{
		size: size, ttl: ttl, barred: barred,
		entries: make(map[string]*list.Element), owned: make(map[string]map[string]struct{}), recent: list.New(),
	}
}

// begin is called before a row is fetched or created; its answer goes into put.
func (c *rowCache) begin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// get returns a copy.
func (c *rowCache) get(key string, now time.Time) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	elem, ok := c.entries[key]
	if !ok {
		return nil, false
	}
	entry, ok := elem.Value.(*rowEntry)
	if !ok || !now.Before(entry.expires) {
		c.remove(elem)
		return nil, false
	}
	c.recent.MoveToFront(elem)
	return bytes.Clone(entry.value), true
}

// put keeps a copy, unless something was evicted since begin: the row may have
// been read before it was destroyed. Nor is a row kept that has been barred.
func (c *rowCache) put(key, owner string, value []byte, asked time.Time, epoch uint64) {
	if c.size <= 0 || c.barred.has(key, asked) || c.barred.has(owner, asked) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return
	}
	if elem, ok := c.entries[key]; ok {
		c.remove(elem)
	}
	c.entries[key] = c.recent.PushFront(&rowEntry{key: key, owner: owner, value: bytes.Clone(value), expires: asked.Add(c.ttl)})
	if c.owned[owner] == nil {
		c.owned[owner] = make(map[string]struct{})
	}
	c.owned[owner][key] = struct{}{}
	for c.recent.Len() > c.size {
		c.remove(c.recent.Back())
	}
}

// evict drops rows by key.
func (c *rowCache) evict(keys ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for _, key := range keys {
		if elem, ok := c.entries[key]; ok {
			c.remove(elem)
		}
	}
}

// drop drops a row that the store no longer has. Unlike evict it lets those who
// are loading other rows keep them.
func (c *rowCache) drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if elem, ok := c.entries[key]; ok {
		c.remove(elem)
	}
}

// evictOwner drops the rows of one subject.
func (c *rowCache) evictOwner(owner string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for key := range c.owned[owner] {
		c.remove(c.entries[key])
	}
}

// evictUnder drops the rows whose owner has a prefix of whole tokens.
func (c *rowCache) evictUnder(prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for owner, keys := range c.owned {
		if !HasPrefix(owner, prefix) {
			continue
		}
		for key := range keys {
			c.remove(c.entries[key])
		}
	}
}

// expire drops the rows whose time is over.
func (c *rowCache) expire(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, elem := range c.entries {
		if entry, ok := elem.Value.(*rowEntry); ok && !now.Before(entry.expires) {
			c.remove(elem)
		}
	}
}

func (c *rowCache) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

func (c *rowCache) remove(elem *list.Element) {
	entry, ok := c.recent.Remove(elem).(*rowEntry)
	if !ok {
		return
	}
	delete(c.entries, entry.key)
	delete(c.owned[entry.owner], entry.key)
	if len(c.owned[entry.owner]) == 0 {
		delete(c.owned, entry.owner)
	}
	clear(entry.value)
}

// ownerOf is what a subject's rows are cached, and barred, under.
func ownerOf(tenant, sid string) string { return tenant + "." + sid }
