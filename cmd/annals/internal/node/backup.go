package node

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/annals-memory/annals/tombstones/backup"
)

// backup writes one artefact of a backup.
func (n *Node) backup(ctx context.Context, kind backup.Kind, w io.Writer) error {
	_, err := backup.Take(ctx, backup.Config{Source: n.source, Log: n.log, Ledger: n.ledger, Dir: n.data, Now: time.Now}, kind, w)
	if err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	return nil
}
