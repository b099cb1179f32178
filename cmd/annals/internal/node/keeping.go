package node

import (
	"context"
	"fmt"
	"time"

	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones/retention"
)

// openKeeping makes what hands out, and what ends, all that is kept of something.
func (n *Node) openKeeping(o Options) error {
	verifier := n.ledger.Verifier()
	var err error
	n.exporter, err = query.NewExporter(query.ExporterConfig{
		Service: n.query, Exports: n.gateway, Signer: n.ledger, NewID: newID,
		Key: fmt.Sprintf("%s+%08x", verifier.Name(), verifier.KeyHash()),
	})
	if err != nil {
		return fmt.Errorf("exporter: %w", err)
	}
	n.forgetter, err = query.NewSuppressor(n.query, n.eraser, n.suppressed)
	if err != nil {
		return fmt.Errorf("suppressor: %w", err)
	}
	n.keepAll = o.KeepAll
	n.keeper, err = retention.New(retention.Config{
		Schedule: o.Retention, Settler: inForce{n.gateway}, Memories: query.NewRetainedViews(n.views), Keys: n.keys, Log: n.log, Eraser: n.eraser,
		Now: time.Now, Logger: o.Logger,
	})
	if err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	return nil
}

// runRetention carries out the schedule, unless it is for previews alone.
func (n *Node) runRetention(ctx context.Context) error {
	if n.keepAll {
		<-ctx.Done()
		return nil
	}
	if err := n.keeper.Run(ctx); err != nil {
		return fmt.Errorf("run retention: %w", err)
	}
	return nil
}
