package natslog

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// Eraser removes messages of the log and their bytes.
type Eraser struct {
	*store
}

// SecureDelete removes the messages at the positions and overwrites their
// bytes. Each costs what it takes to write a block anew and to have it on the
// disk, some 10 to 25 ms, however small the message; requests at once do not
// help, for the server takes one after the other. Absent is success. After an error some may be gone, and the call can be repeated.
//
// With several replicas every one of them has the deletion in its Raft log when the
// call returns, and overwrites the bytes as soon as it has got to it. While one is
// away nothing is deleted, and the error is ErrReplicaAway: if the others had
// compacted the deletion away by its return, it would be told only that the
// message is gone, and keep its bytes. Raft logs keep the messages until they are
// compacted, and mirrors keep them altogether. A replica that is lost in the very
// moment of a deletion may keep the bytes.
func (e *Eraser) SecureDelete(ctx context.Context, positions ...uint64) error {
	if err := e.together(ctx); err != nil {
		return fmt.Errorf("delete messages: %w", err)
	}
	for _, p := range positions {
		if p == 0 {
			continue
		}
		if err := e.secureDelete(ctx, p); err != nil {
			return translate("delete messages", err)
		}
	}
	if err := e.together(ctx); err != nil {
		// They are gone for all who ask. To go on would only do the same to others.
		return fmt.Errorf("delete messages: %w: %w", events.ErrUnavailable, err)
	}
	return nil
}
