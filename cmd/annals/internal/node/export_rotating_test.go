package node

import (
	"context"
	"log/slog"
	"time"
)

// RunRotator runs a rotator in the background and returns what stops it.
func RunRotator(ctx context.Context, keys rootRing, every time.Duration, prepare func(context.Context) error,
	tell func(uint64, time.Time),
) (stop func()) {
	r := &rotator{
		keys: keys, every: every, now: time.Now, logger: slog.New(slog.DiscardHandler), prepare: prepare,
		tell: []func(uint64, time.Time){tell},
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.Run(ctx) // it ends with the context alone
	}()
	return func() {
		cancel()
		<-done
	}
}

// ForgetGrace has a node on a server of its own not wait for other processes that
// could still wrap under a key that was replaced. There are none in a test.
func (n *Node) ForgetGrace() { n.eraseConfig.Rotation.Grace = 0 }
