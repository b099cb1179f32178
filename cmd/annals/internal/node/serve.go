package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/events"
)

// shutdownGrace is how long requests in flight may take to end.
const shutdownGrace = 10 * time.Second

// Serve runs the node and serves its door on l until the context ends. Reads
// are refused until every view has caught up with the log as it was found:
// what a crash took from the views must not be missing from an answer. Then it
// calls accepting.
func (n *Node) Serve(ctx context.Context, l net.Listener, accepting func()) error {
	n.behind.Store(true)
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
		switch err := n.CatchUp(gctx); {
		case err == nil:
			n.behind.Store(false)
			if err := announce(n.data, l.Addr().String()); err != nil {
				return errors.Join(err, srv.Close())
			}
			accepting()
			<-gctx.Done()
		case gctx.Err() == nil:
			return errors.Join(err, srv.Close())
		}
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		if err := srv.Shutdown(sctx); err != nil {
			return errors.Join(fmt.Errorf("shut down: %w", err), srv.Close())
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}

// How often a node that catches up says where it is, and how long it goes on
// without getting any further. A batch of a view takes well under a second.
const (
	tellEvery  = 5 * time.Second
	stuckAfter = 6 * tellEvery
)

// ErrStuck says that the log announces messages that it does not deliver.
var ErrStuck = errors.New("the log does not deliver what it announces; it may be damaged")

// inRecovery reports whether the node does nothing but say what is wrong.
func (n *Node) inRecovery() bool { return n.recovers && n.damage.Load() != nil }

// CatchUp returns when the views have folded the log as it stands, or with an
// error when the node ends or the log does not go on. A search index outside is
// waited for without end. In recovery mode there is nothing to wait for.
func (n *Node) CatchUp(ctx context.Context) error {
	if n.inRecovery() {
		return nil // nobody is going to read
	}
	ctx, cancel := n.whileRunning(ctx)
	defer cancel()
	state, err := n.log.State(ctx)
	if err != nil {
		return fmt.Errorf("catch up: %w", err)
	}
	for at, still := n.views.Position(), time.Duration(0); ; {
		wctx, wcancel := context.WithTimeout(ctx, tellEvery)
		err := n.views.WaitFor(wctx, state.Last)
		wcancel()
		if err == nil {
			return nil
		}
		if n.inRecovery() {
			return nil
		}
		if ctx.Err() != nil || !errors.Is(err, events.ErrBehind) {
			return fmt.Errorf("catch up: %w", err)
		}
		still += tellEvery
		waits := n.views.Waiting()
		if now := n.views.Position(); now > at || waits != "" {
			at, still = now, 0
		}
		tell := []slog.Attr{slog.Uint64("position", at), slog.Uint64("head", state.Last)}
		if waits != "" {
			tell = append(tell, slog.String("waits_for", waits))
		}
		n.logger.LogAttrs(ctx, slog.LevelWarn, "views are catching up", tell...)
		if still >= stuckAfter {
			return fmt.Errorf("catch up at %d of %d: %w", at, state.Last, ErrStuck)
		}
	}
}
