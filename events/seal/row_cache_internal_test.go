package seal

import (
	"fmt"
	"testing"
	"time"
)

// TestRowCacheRefusesWhatMayBeDestroyed keeps a load that overlaps with an
// eviction of any kind from bringing a row back.
func TestRowCacheRefusesWhatMayBeDestroyed(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	for name, evict := range map[string]func(*rowCache){
		"row":     func(c *rowCache) { c.evict("k3.t.r") },
		"subject": func(c *rowCache) { c.evictOwner("t.s") },
		"tenant":  func(c *rowCache) { c.evictUnder("t") },
	} {
		c := newRowCache(9, time.Minute, newBars(time.Minute))
		put := func(key, owner string) { c.put(key, owner, []byte("row"), now, c.begin()) }
		put("k3.t.r", "t.s")
		put("k3.t2.r", "t2.s")
		epoch := c.begin()
		evict(c)
		if _, ok := c.get("k3.t.r", now); ok {
			t.Errorf("%s: the row is still there", name)
		}
		if _, ok := c.get("k3.t2.r", now); !ok {
			t.Errorf("%s: another's row went too", name)
		}
		c.put("k3.t.r", "t.s", []byte("row"), now, epoch)
		if c.len() != 1 {
			t.Errorf("%s: a row read before an eviction was cached after it", name)
		}
		put("k3.t.r", "t.s")
		if c.len() != 2 {
			t.Errorf("%s: a row read after an eviction was not cached", name)
		}
		c.expire(now.Add(time.Minute))
		if c.len() != 0 || len(c.owned) != 0 || len(c.entries) != 0 {
			t.Errorf("%s: expired rows leave something", name)
		}
	}
}

func TestRowCacheHandsOutCopies(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	c := newRowCache(1, time.Minute, newBars(time.Minute))
	given := []byte("row")
	c.put("k3.t.r", "t.s", given, now, c.begin())
	taken, _ := c.get("k3.t.r", now)
	c.put("k3.t.r2", "t.s", given, now, c.begin()) // pushes the first one out, which is wiped
	if string(given) != "row" || string(taken) != "row" || c.len() != 1 {
		t.Errorf("given %q, taken %q, %d kept", given, taken, c.len())
	}
}

func TestBarsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	b := newBars(time.Minute)
	for i := range maxBars + 1 {
		b.set(fmt.Sprint(i), now)
	}
	if len(b.until) != maxBars || b.has("0", now) || !b.has("1", now) {
		t.Errorf("%d bars", len(b.until))
	}
	b.set("1", now.Add(time.Second)) // again: what is dropped is its first time
	if b.set("more", now.Add(time.Second)); !b.has("1", now.Add(time.Minute)) {
		t.Error("a bar that was set again went with its first time")
	}
	b.set("late", now.Add(2*time.Minute))
	if len(b.until) != 1 || len(b.order) != 1 {
		t.Errorf("%d bars whose time is over", len(b.until))
	}
}
