package node_test

import (
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
)

// history is what a model knows of everything that was called: what was told
// under which canary, and what was asked to be forgotten when. All times are of
// one logical clock that every call reads when it begins and when it ends.
type history struct {
	clock atomic.Int64

	mu       sync.Mutex // guards what follows
	episodes []*episode
	claims   []*claim
	notes    []*remark
	ends     []*ending
	by       map[string][]member
	calls    []span
}

func newHistory() *history { return &history{by: map[string][]member{}} }

// now is a time that no other call gets.
func (h *history) now() int64 { return h.clock.Add(1) }

// written is when something was written. It is in the log for sure only if it
// was acknowledged; what failed may have got there, and not later than it ended.
type written struct {
	canary, tenant, subject string
	begun, ended            int64 // ended is 0 while it is being written
	acked                   bool
	position                uint64
	trying                  int // calls that are writing it
}

// before says whether an erasure must have found it.
func (w *written) before(e *ending) bool {
	return w.ended != 0 && w.ended < e.begun
}

// within says whether the erasure of a subject covers it: what was written
// before the tombstone, by time or by position. A name that is used again
// afterwards is another subject's.
func (w *written) within(e *ending) bool {
	if e.tenant != w.tenant || e.subject == "" || e.subject != w.subject {
		return false
	}
	if e.whole {
		return w.before(e) || w.acked && w.position < e.position
	}
	return w.acked && w.before(e)
}

// member is one of what holds a canary.
type member interface {
	// dead says whether an erasure that was acknowledged before the time ended it.
	dead(h *history, at int64) bool
}

// episode is one that was captured.
type episode struct {
	written

	id, session string
	again       *again // nil without an idempotency key
}

// again is how to make a call again.
type again struct {
	path string
	body obj
	key  string
	all  []*episode // that it writes
}

func (p *episode) dead(h *history, at int64) bool {
	return slices.ContainsFunc(h.ends, func(e *ending) bool { return e.over(at) && e.coversEpisode(p) })
}

// claim is one proposal. Several that say the same share a canary.
type claim struct {
	written

	candidate, fact string
	predicate       string
	observed        string
	sources         []*episode
	// unknown says that it was refused because a source was nowhere to be found.
	unknown bool
}

// dead says that the fact was forgotten, or its subject, or all that it came
// from, however late the proposal was answered. What was proposed only when its
// sources were gone is what somebody says anew. So is what was refused for a source
// that is unknown: once the bytes of a forgotten subject are gone, nothing tells its
// episodes from what never was.
func (c *claim) dead(h *history, at int64) bool {
	if slices.ContainsFunc(h.ends, func(e *ending) bool { return e.over(at) && e.coversClaim(c) }) {
		return true
	}
	if c.unknown {
		return false
	}
	had := slices.DeleteFunc(slices.Clone(c.sources), func(p *episode) bool { return p.dead(h, c.begun) })
	return len(had) > 0 && !slices.ContainsFunc(had, func(p *episode) bool { return !p.dead(h, at) })
}

// remark is what else is kept: the question of a recall, the reason of a retraction.
type remark struct {
	written

	of    string // the fact, if it is about one
	trace string // that keeps it, if it is a question
}

func (n *remark) dead(h *history, at int64) bool {
	if slices.ContainsFunc(h.ends, func(e *ending) bool { return e.over(at) && n.within(e) && (e.whole || n.of != "") }) {
		return true
	}
	if n.of == "" {
		return false
	}
	seen := false
	for _, c := range h.claims {
		if c.fact != n.of {
			continue
		}
		if !c.dead(h, at) {
			return false
		}
		seen = true
	}
	return seen
}

// ending is one forget.
type ending struct {
	tenant string
	// subject or session says what is to end; whole that the subject itself is.
	subject, session string
	whole            bool
	ids              []string
	begun, ended     int64 // ended is 0 while it runs
	acked            bool
	position         uint64
}

// over says whether it was acknowledged before a time.
func (e *ending) over(at int64) bool { return e.acked && e.ended < at }

func (e *ending) coversEpisode(p *episode) bool {
	switch {
	case e.tenant != p.tenant:
		return false
	case len(e.ids) > 0:
		return p.id != "" && slices.Contains(e.ids, p.id)
	case e.session != "":
		return p.acked && p.before(e) && e.session == p.session
	}
	return p.within(e)
}

func (e *ending) coversClaim(c *claim) bool {
	if len(e.ids) > 0 {
		// A candidate that was merged into another fact is not that fact.
		return c.fact != "" && slices.Contains(e.ids, c.fact) || c.fact == "" && c.candidate != "" && slices.Contains(e.ids, c.candidate)
	}
	return c.within(e)
}

// mayTouch says whether an erasure, acknowledged or not, could have reached
// what was written: then nothing says that it must still be there.
func (e *ending) mayTouch(w *written, session string, ids ...string) bool {
	if e.tenant != w.tenant || e.ended != 0 && e.ended < w.begun {
		return false
	}
	for _, id := range ids {
		if slices.Contains(e.ids, id) {
			return true
		}
	}
	return e.subject != "" && e.subject == w.subject || e.session != "" && e.session == session
}

// alive are the acknowledged episodes, and facts, that no erasure could have
// reached.
func (h *history) alive() (episodes []*episode, claims []*claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := func(p *episode) bool {
		return p.acked && !slices.ContainsFunc(h.ends, func(e *ending) bool { return e.mayTouch(&p.written, p.session, p.id) })
	}
	for _, p := range h.episodes {
		if kept(p) {
			episodes = append(episodes, p)
		}
	}
	for _, c := range h.claims {
		if c.acked && c.fact != "" && !slices.ContainsFunc(h.ends, func(e *ending) bool { return e.mayTouch(&c.written, "", c.fact) }) &&
			slices.ContainsFunc(c.sources, kept) {
			claims = append(claims, c)
		}
	}
	return episodes, claims
}

var canaries = regexp.MustCompile(`zq[0-9a-z]+qz`)

// leaks are the canaries in what was read at a time that must not be there, and
// how many others are.
func (h *history) leaks(body []byte, at int64) (found []string, shown int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range canaries.FindAll(body, -1) {
		all, known := h.by[string(b)]
		switch {
		case !known:
		case slices.ContainsFunc(all, func(m member) bool { return !m.dead(h, at) }):
			shown++
		case !slices.Contains(found, string(b)):
			found = append(found, string(b))
		}
	}
	return found, shown
}

// span is one call, or one look at everything about a subject.
type span struct {
	what, tenant, subject string
	begun, ended          int64
	forget                bool
}

// races counts the pairs of a forget and another call about the same subject
// that ran at the same time, by the kind of the other.
func (h *history) races() (total int, by map[string]int) {
	by = map[string]int{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, f := range h.calls {
		if !f.forget {
			continue
		}
		for j, o := range h.calls {
			if i == j || o.forget && j < i || o.tenant != f.tenant || o.subject != f.subject || o.begun > f.ended || f.begun > o.ended {
				continue
			}
			total++
			by[o.what]++
		}
	}
	return total, by
}
