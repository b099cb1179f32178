package tombstones

import (
	"slices"
	"sync"
)

// shredding is what is left to destroy of one erasure.
type shredding struct {
	token, erasure string
	// ids are the records whose keys are to be destroyed, failed those whose
	// keys could not be; busy counts those that are being destroyed.
	ids, failed []string
	busy        int
}

// queue holds the keys that are destroyed after the answer. It is in memory
// alone: after a crash the tombstones in the log say the same.
type queue struct {
	mu   sync.Mutex
	list []*shredding
	// added has room for one: there is something new.
	added chan struct{}
	// empty is closed while nothing is left.
	empty chan struct{}
}

func newQueue() *queue {
	q := &queue{added: make(chan struct{}, 1), empty: make(chan struct{})}
	close(q.empty)
	return q
}

// put queues the keys of an erasure, in place of those that are queued of it.
func (q *queue) put(token, erasure string, ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var s *shredding
	for _, other := range q.list {
		if other.token == token && other.erasure == erasure {
			s = other
		}
	}
	if s == nil {
		s = &shredding{token: token, erasure: erasure}
		if len(q.list) == 0 {
			q.empty = make(chan struct{})
		}
		q.list = append(q.list, s)
	}
	s.ids, s.failed = ids, nil
	select {
	case q.added <- struct{}{}:
	default:
	}
}

// next takes one key, which must be given to done.
func (q *queue) next() (s *shredding, id string, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.list {
		if len(s.ids) > 0 {
			id, s.ids = s.ids[0], s.ids[1:]
			s.busy++
			return s, id, true
		}
	}
	return nil, "", false
}

// done gives a key back, destroyed or not, and says whether it was the last one of
// its erasure.
func (q *queue) done(s *shredding, id string, destroyed bool) (last bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.busy--
	if !destroyed {
		s.failed = append(s.failed, id)
	}
	if s.busy+len(s.ids)+len(s.failed) > 0 {
		return false
	}
	for i, other := range q.list {
		if other == s {
			q.list = append(q.list[:i], q.list[i+1:]...)
			break
		}
	}
	if len(q.list) == 0 {
		close(q.empty)
	}
	return true
}

// has says whether keys of an erasure are left.
func (q *queue) has(k erasureKey) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.list, func(s *shredding) bool { return s.token == k.tenant && s.erasure == k.erasure })
}

// again brings back what failed.
func (q *queue) again() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.list {
		s.ids, s.failed = append(s.ids, s.failed...), nil
	}
}

// drained is closed when nothing is left of what is queued now.
func (q *queue) drained() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.empty
}
