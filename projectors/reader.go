package projectors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/annals-memory/annals/events"
)

// defaultQuiet is how long a reader waits for a message that was said to be pending, before it asks the log whether it is still
// there: what was erased meanwhile never comes.
const defaultQuiet = 100 * time.Millisecond

// read sends the log after a position to out, chunk by chunk, and returns with an error, with the context, or when nothing at
// or below to is left (zero is never). Positions at the end of the log that hold nothing are passed too.
//
// Each chunk is prepared for the projection that is the current one by then.
func read(ctx context.Context, cfg *Config, current func() *spec, from, to uint64, out chan<- chunk) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	r := &reader{
		log: cfg.Log, quiet: cfg.quiet, current: current, to: to, out: out, stop: stop,
		w: wants{spec: current(), seen: make(map[string]bool)}, delivered: from, passed: from,
	}
	r.start(ctx, following)
	for m, err := range cfg.Log.Follow(following, from) {
		if !r.take(ctx, &m, err) {
			break
		}
	}
	return r.finish(ctx)
}

// reader makes chunks of what a log delivers.
type reader struct {
	log     events.Follower
	quiet   time.Duration
	current func() *spec
	to      uint64
	out     chan<- chunk
	stop    context.CancelFunc
	// resting is one timer at work or waiting.
	resting sync.WaitGroup

	mu    sync.Mutex
	w     wants
	c     chunk
	bytes int
	// delivered is the last position that came, passed the last one that came or is known to hold nothing.
	delivered, passed uint64
	// took counts messages; tookThen is what it was when the timer was set.
	took, tookThen uint64
	timer          *time.Timer
	armed          bool
	done           bool
	err            error
}

func (r *reader) start(ctx, following context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resting.Add(1)
	r.armed = true
	r.timer = time.AfterFunc(r.quiet, func() {
		defer r.resting.Done()
		r.rest(ctx, following)
	})
}

// arm sets the timer unless it is set. mu is held.
func (r *reader) arm() {
	if r.armed || r.done {
		return
	}
	r.armed, r.tookThen = true, r.took
	r.resting.Add(1)
	r.timer.Reset(r.quiet)
}

// take adds a message to the chunk at hand, and tells whether more are wanted.
func (r *reader) take(ctx context.Context, m *events.Message, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.done:
		return false
	case err != nil:
		r.fail(fmt.Errorf("follow log: %w", err))
		return false
	case m.Position <= r.delivered:
		r.fail(fmt.Errorf("follow log: %w", ErrLogWentBack))
		return false
	case r.to > 0 && m.Position > r.to:
		return false
	}
	r.took++
	r.delivered = m.Position
	if m.Position <= r.passed { // it was on its way when it was erased
		return true
	}
	r.passed = m.Position
	r.c.last = mark{position: m.Position, commit: m.Header.ID}
	r.c.messages++
	r.c.pending = m.Pending
	r.bytes += len(m.Data)
	if r.w.message(&m.Header) {
		r.c.items = append(r.c.items, newItem(m))
	}
	r.arm()
	if m.Pending == 0 || r.c.messages >= chunkMessages || r.bytes >= chunkBytes || m.Position == r.to {
		if err := r.send(ctx); err != nil {
			r.fail(err)
			return false
		}
	}
	return r.to == 0 || m.Position < r.to
}

// fail ends the reading. mu is held.
func (r *reader) fail(err error) {
	r.err, r.done = err, true
	r.stop()
}

// send hands the chunk at hand over. mu is held.
func (r *reader) send(ctx context.Context) error {
	r.c.spec = r.current()
	if err := r.c.spec.ready(ctx, r.c.items); err != nil {
		return err
	}
	select {
	case r.out <- r.c:
	case <-ctx.Done():
		return fmt.Errorf("follow log: %w", ctx.Err())
	}
	r.c, r.bytes = chunk{}, 0
	return nil
}

// rest is called when the timer has run. If nothing came meanwhile, what there is goes out, and the positions up to the end of
// the log are passed if they hold nothing.
func (r *reader) rest(ctx, following context.Context) {
	r.mu.Lock()
	r.armed = false
	if r.done || r.took != r.tookThen {
		r.arm()
		r.mu.Unlock()
		return
	}
	took, passed := r.took, r.passed
	r.mu.Unlock()
	end, empty, err := emptyUpTo(following, r.log, passed, r.to)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done || r.took != took {
		r.arm()
		return
	}
	if err != nil || !empty { // it is asked again: a log that cannot be reached says so where it is followed
		r.arm()
	}
	if end > r.passed {
		r.passed, r.c.last = end, mark{position: end}
	}
	if empty {
		r.c.pending = 0
	}
	if r.c.last.position > 0 {
		if err := r.send(ctx); err != nil {
			r.fail(err)
			return
		}
	}
	if r.to > 0 && r.passed >= r.to {
		r.done = true
		r.stop()
	}
}

// finish sends what is left and waits for the timer.
func (r *reader) finish(ctx context.Context) error {
	r.stop()
	r.mu.Lock()
	r.done = true
	if r.err == nil && r.c.messages > 0 {
		r.err = r.send(ctx)
	}
	if r.err == nil && (r.to == 0 || r.passed < r.to) && ctx.Err() != nil {
		r.err = fmt.Errorf("follow log: %w", ctx.Err())
	}
	err := r.err
	r.mu.Unlock()
	if r.timer.Stop() {
		r.resting.Done()
	}
	r.resting.Wait()
	return err
}

// emptyUpTo returns the end of the log, or to (zero is none) if that comes first, and whether no position above passed up to
// there holds a message. It asks for one position after another, the last one first, which in a log that goes on
// after what was erased is the only one.
func emptyUpTo(ctx context.Context, log events.Follower, passed, to uint64) (end uint64, empty bool, err error) {
	state, err := log.State(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("ask log: %w", err)
	}
	end = state.Last
	if to > 0 {
		if state.Last > to {
			// What follows is delivered in any case, and ends the reading.
			if _, err := log.MessageAt(ctx, state.Last); err == nil {
				return 0, false, nil
			}
		}
		end = min(end, to)
	}
	end = max(end, passed)
	for p := end; p > passed; p-- {
		_, err := log.MessageAt(ctx, p)
		if err == nil {
			return 0, false, nil
		}
		if !errors.Is(err, events.ErrNoCommits) {
			return 0, false, fmt.Errorf("read message: %w", err)
		}
	}
	return end, true, nil
}
