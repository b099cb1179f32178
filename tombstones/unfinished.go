package tombstones

import (
	"slices"
	"strings"
	"sync"
)

// erasureKey names an erasure within all tenants.
type erasureKey struct{ tenant, erasure string }

// unfinished are the erasures that are not at their end. It is in memory alone:
// after a crash the log says the same.
type unfinished struct {
	mu  sync.Mutex
	set map[erasureKey]string
	// woken has room for one: there may be something to do.
	woken chan struct{}
}

func newUnfinished() *unfinished {
	return &unfinished{set: make(map[erasureKey]string), woken: make(chan struct{}, 1)}
}

// add makes the background see to an erasure. The principal is who asked for it.
func (u *unfinished) add(k erasureKey, principal string) {
	u.mu.Lock()
	u.set[k] = principal
	u.mu.Unlock()
	u.wake()
}

func (u *unfinished) wake() {
	select {
	case u.woken <- struct{}{}:
	default:
	}
}

func (u *unfinished) principal(k erasureKey) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.set[k]
}

func (u *unfinished) has(k erasureKey) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, is := u.set[k]
	return is
}

func (u *unfinished) remove(k erasureKey) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.set, k)
}

// list are the erasures in a fixed order.
func (u *unfinished) list() []erasureKey {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := make([]erasureKey, 0, len(u.set))
	for k := range u.set {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b erasureKey) int {
		if c := strings.Compare(a.tenant, b.tenant); c != 0 {
			return c
		}
		return strings.Compare(a.erasure, b.erasure)
	})
	return list
}
