package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// lastCheckpoint bounds the checkpoint that is made when a node closes.
const lastCheckpoint = 10 * time.Second

// errNoLog says that a last checkpoint could not be tried.
var errNoLog = errors.New("the log does not answer")

// openStreams opens the streams. Beside an anchor, or what a log that is gone has
// left, none is made: what is missing was there.
func (n *Node) openStreams(ctx context.Context, o Options) (*natslog.Streams, error) {
	anchored, err := ledger.Anchored(n.data)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	used, err := wasUsed(n.data, o.NATS != "")
	if err != nil {
		return nil, err
	}
	streams, err := natslog.Open(ctx, n.conn, natslog.Config{
		Replicas: max(1, o.Replicas), CreateStreams: !anchored && !used, Server: n.server,
	})
	if lost, is := errors.AsType[*natslog.StreamError](err); is && lost.Setting == "" {
		return nil, fmt.Errorf("open the log: %w", &ledger.DamageError{Kind: ledger.KindStreamMissing, Stream: lost.Stream})
	}
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	n.source = soundKeys{streams, n}
	return streams, nil
}

// reached is how far the parts of a log are known to have gone.
func reached(data string) map[string]uint64 {
	a, is := ledger.LastAnchor(data)
	if !is {
		return nil
	}
	return map[string]uint64{natslog.PartData: a.Size, natslog.PartKeys: a.Keys, natslog.PartLedger: a.Records}
}

// damaged says of an error of the server that it is damage, if it is.
func damaged(err error) error {
	if block, is := errors.AsType[*natslog.BlockError](err); is {
		return &ledger.DamageError{Kind: ledger.KindBlockInvalid, Stream: block.Stream}
	}
	return err
}

// openLedger compares the log with ledger and anchor before anything else reads
// it. A directory that was never used may join a log that others use.
func (n *Node) openLedger(ctx context.Context, o Options, streams *natslog.Streams) error {
	_, err := os.Stat(filepath.Join(n.data, placeFile))
	fresh := errors.Is(err, os.ErrNotExist)
	const tell = 1_000_000
	n.ledger, err = ledger.Open(ctx, ledger.Config{
		Log: n.log, Keys: streams.Keys(), Store: streams.Ledger(), Dir: n.data, Join: fresh && o.NATS != "",
		Rand: rand.Reader, Logger: o.Logger,
	}, func(done, total uint64) {
		if done%tell == 0 && done < total {
			o.Logger.LogAttrs(ctx, slog.LevelInfo, "comparing the log with its ledger", slog.Uint64("position", done), slog.Uint64("head", total))
		}
	})
	if err != nil {
		return fmt.Errorf("verify the log: %w", err)
	}
	n.endLedger = func() error { return n.closeLedger(context.WithoutCancel(ctx)) }
	return nil
}

// recovery is a node on a damaged log: the log is closed, and the door says so.
func (n *Node) recovery(ctx context.Context, o Options, d *ledger.DamageError) error {
	n.damage.Store(d)
	if err := n.closeLog(); err != nil {
		return err
	}
	o.Logger.LogAttrs(ctx, slog.LevelError, "recovery mode: nothing is read, written or folded", slog.String("damage", d.Error()))
	return n.openDoor(o)
}

// noteDamage takes note of what an error says of the log, if it does: from then
// on the door answers with nothing else.
func (n *Node) noteDamage(ctx context.Context, err error) {
	if d, is := ledger.AsDamage(err); is && n.damage.CompareAndSwap(nil, d) {
		n.logger.LogAttrs(ctx, slog.LevelError, "the log is damaged: nothing is read, written or folded any more", slog.String("damage", d.Error()))
	}
}

// Damage is what is wrong with the log, nil if nothing is known to be.
func (n *Node) Damage() *ledger.DamageError { return n.damage.Load() }

// Ledger is what the log is held to.
func (n *Node) Ledger() *ledger.Ledger { return n.ledger }

// openDoor makes the HTTP door.
func (n *Node) openDoor(o Options) error {
	var err error
	n.api, err = httpapi.New(httpapi.Config{
		Gateway: n.gateway, Query: n.query, Eraser: n.eraser, Views: n.views, Authority: n.authority,
		Forgetter: n.forgetter, Exporter: n.exporter, Retention: n.keeper, Simulator: n.simulator,
		Embeddings: n.embeddings, Ledger: n.ledger, Anchor: n.anchor, Backup: n.backup, RotateRoot: n.rotator.Rotate, Damage: n.Damage,
		Ready: n.Ready, CaughtUp: func() bool { return !n.behind.Load() }, Logger: o.Logger, Now: time.Now, NewID: newID, Version: o.Version,
	})
	if err != nil {
		return fmt.Errorf("door: %w", err)
	}
	return nil
}

func (n *Node) anchor() ([]byte, error) {
	_, signed, err := ledger.Anchor(n.data)
	if err != nil {
		return nil, fmt.Errorf("read the anchor: %w", err)
	}
	return signed, nil
}

// closeLedger makes the anchor as new as the log. That the log does not answer
// any more is no error: the anchor is older then, and good.
func (n *Node) closeLedger(ctx context.Context) error {
	if n.damage.Load() != nil {
		return nil
	}
	err := errNoLog
	if n.conn.IsConnected() {
		limited, cancel := context.WithTimeout(ctx, lastCheckpoint)
		defer cancel()
		err = n.ledger.Checkpoint(limited)
	}
	if _, damaged := ledger.AsDamage(err); damaged {
		return fmt.Errorf("last checkpoint: %w", err)
	}
	if err != nil {
		n.logger.LogAttrs(ctx, slog.LevelWarn, "no last checkpoint", slog.String("error", err.Error()))
	}
	return nil
}

func (n *Node) closeLog() error {
	if n.conn != nil {
		n.conn.Close()
		n.conn = nil
	}
	if n.server == nil {
		return nil
	}
	err := n.server.Close()
	n.server = nil
	if err != nil {
		return fmt.Errorf("close the log: %w", err)
	}
	return nil
}
