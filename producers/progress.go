package producers

import (
	"context"
	"fmt"
	"sync"
)

// progress is a position that only grows, and that can be waited for.
type progress struct {
	mu       sync.Mutex // guards what follows
	position uint64
	changed  chan struct{} // closed at the next growth; nil while nobody waits
}

func (p *progress) reach(position uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if position <= p.position {
		return
	}
	p.position = position
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

func (p *progress) at() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.position
}

func (p *progress) waitFor(ctx context.Context, position uint64) error {
	for {
		p.mu.Lock()
		if p.position >= position {
			p.mu.Unlock()
			return nil
		}
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the embedder: %w", ctx.Err())
		case <-changed:
		}
	}
}
