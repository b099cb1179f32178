package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// shutdownGrace is how long requests in flight may take to end.
const shutdownGrace = 10 * time.Second

// Serve runs the node and serves its door on l until the context ends. It
// calls accepting once requests are taken and every view has caught up with
// the log as it was found.
func (n *Node) Serve(ctx context.Context, l net.Listener, accepting func()) error {
	srv := &http.Server{
		Handler: n.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	g, gctx := errgroup.WithContext(ctx)
	// What folds and embeds goes on until the last request has been answered.
	bctx, bcancel := context.WithCancel(context.WithoutCancel(ctx))
	g.Go(func() error { return n.Run(bctx) })
	g.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	g.Go(func() error {
		defer bcancel()
		if err := n.CatchUp(gctx); err == nil {
			if err := announce(n.data, l.Addr().String()); err != nil {
				return errors.Join(err, srv.Close())
			}
			accepting()
			<-gctx.Done()
		}
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if err := srv.Shutdown(sctx); err != nil {
			return fmt.Errorf("shut down: %w", err)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}

// CatchUp returns when the views have folded the log as it stands.
func (n *Node) CatchUp(ctx context.Context) error {
	state, err := n.log.State(ctx)
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	if err := n.views.WaitFor(ctx, state.Last); err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	return nil
}
