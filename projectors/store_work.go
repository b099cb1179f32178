package projectors

import (
	"context"
	"maps"
	"sync"
)

// storeWork is what a store does in the background. Its methods are called while the store is locked, and do not wait.
type storeWork struct {
	mu      sync.Mutex
	running map[int]bool // flushes and compactions, by the ids of their jobs
	moved   chan struct{}
}

func newStoreWork() *storeWork {
	return &storeWork{running: make(map[int]bool), moved: make(chan struct{})}
}

func (w *storeWork) begin(job int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[job] = true
}

func (w *storeWork) end(job int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, job)
	w.announce()
}

// deleted is told that a file has gone.
func (w *storeWork) deleted() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.announce()
}

func (w *storeWork) announce() {
	close(w.moved)
	w.moved = make(chan struct{})
}

// next returns a channel that is closed when a job ends or a file goes.
func (w *storeWork) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved
}

// drain waits for the jobs that run now, and not for later ones.
func (w *storeWork) drain(ctx context.Context) error {
	w.mu.Lock()
	jobs := maps.Clone(w.running)
	w.mu.Unlock()
	for {
		w.mu.Lock()
		maps.DeleteFunc(jobs, func(job int, _ bool) bool { return !w.running[job] })
		moved := w.moved
		w.mu.Unlock()
		if len(jobs) == 0 {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // the caller says what it waited for.
		}
	}
}
