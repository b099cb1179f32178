package node

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/backup"
)

// soundKeys takes no snapshot of keys that are damaged: it would look like a good
// one.
type soundKeys struct {
	backup.Source

	node *Node
}

// Snapshot implements [backup.Source].
func (s soundKeys) Snapshot(ctx context.Context, part string, w io.Writer) (events.State, error) {
	if part == string(backup.KindKeys) {
		if err := s.node.ledger.CheckKeys(ctx); err != nil {
			s.node.noteDamage(ctx, err)
			return events.State{}, fmt.Errorf("take snapshot: %w", err)
		}
	}
	state, err := s.Source.Snapshot(ctx, part, w)
	if err != nil {
		return state, fmt.Errorf("take snapshot: %w", err)
	}
	return state, nil
}

// backup writes one artefact of a backup.
func (n *Node) backup(ctx context.Context, kind backup.Kind, w io.Writer) error {
	_, err := backup.Take(ctx, backup.Config{Source: n.source, Log: n.log, Ledger: n.ledger, Dir: n.data, Now: time.Now}, kind, w)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}
