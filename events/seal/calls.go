package seal

import (
	"context"
	"fmt"
	"sync"
)

// calls knows which calls that wrap under a K1 or a K2 are under way.
type calls struct {
	mu sync.Mutex
	// current is what calls that begin now are part of, retired what those were part
	// of that are waited for and run still.
	current *generation
	retired map[*generation]struct{}
}

// generation is the calls that began between two waits. It is over when the last
// of them has ended after it was retired.
type generation struct {
	running int
	retired bool
	over    chan struct{}
}

// begin tells of a call, and returns what ends it.
func (c *calls) begin() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		c.current = &generation{over: make(chan struct{})}
	}
	g := c.current
	g.running++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if g.running--; g.running == 0 && g.retired {
			delete(c.retired, g)
			close(g.over)
		}
	}
}

// underWay retires the calls that run, and returns all that do.
func (c *calls) underWay() []*generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.current; g != nil && g.running > 0 {
		g.retired, c.current = true, nil
		if c.retired == nil {
			c.retired = make(map[*generation]struct{})
		}
		c.retired[g] = struct{}{}
	}
	all := make([]*generation, 0, len(c.retired))
	for g := range c.retired {
		all = append(all, g)
	}
	return all
}

// Quiesce waits for the calls of this keyring that were under way, which may wrap
// under a key that was the current one when they began. Those that begin later are
// not waited for. After [Keyring.RotateTenant], [Keyring.RotateSubject] or
// [Keyring.RotateSubjects] and this, nothing that this keyring does wraps under the
// former key: only other processes have to be waited for before the rotation is
// finished. Several may wait at once. The error is the context's.
func (k *Keyring) Quiesce(ctx context.Context) error {
	for _, g := range k.calls.underWay() {
		select {
		case <-g.over:
		case <-ctx.Done():
			return fmt.Errorf("wait for calls: %w", context.Cause(ctx))
		}
	}
	return nil
}
