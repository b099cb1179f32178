package seal

import (
	"context"
	"fmt"
	"sync"
)

// calls knows which calls that wrap under a K1 or a K2 are under way.
type calls struct {
	mu sync.Mutex
	// current is what calls that begin now are part of; it is closed by the last of
	// them once it was retired.
	current *generation
}

// generation is the calls that began between two waits.
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
			close(g.over)
		}
	}
}

// Quiesce waits for the calls of this keyring that were under way, which may wrap
// under a key that was the current one when they began. Those that begin later are
// not waited for. After [Keyring.RotateTenant], [Keyring.RotateSubject] or
// [Keyring.RotateSubjects] and this, nothing that this keyring does wraps under the
// former key: only other processes have to be waited for before the rotation is
// finished. The error is the context's.
func (k *Keyring) Quiesce(ctx context.Context) error {
	c := &k.calls
	c.mu.Lock()
	g := c.current
	c.current = nil
	if g == nil || g.running == 0 {
		c.mu.Unlock()
		return nil // whatever the context says
	}
	g.retired = true
	c.mu.Unlock()
	select {
	case <-g.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for calls: %w", context.Cause(ctx))
	}
}
