package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/backup"
)

type restoreCmd struct {
	From     string   `help:"The data artefact." required:"" placeholder:"FILE"`
	Keys     string   `help:"The keys artefact." required:"" placeholder:"FILE"`
	Ledger   string   `help:"The newest ledger artefact." placeholder:"FILE"`
	Root     string   `help:"The file with the root key." required:"" placeholder:"FILE"`
	Signer   string   `help:"The ledger.key of the lost directory; without it the ledger gets a new key." placeholder:"FILE"`
	Public   string   `help:"The ledger.pub that is trusted; without it and --signer the artefacts vouch for themselves." placeholder:"FILE"`
	Anchor   []string `help:"An anchor that was kept elsewhere; the ledger must not be older. Can be given again." placeholder:"FILE" sep:"none"`
	NATS     string   `help:"External NATS server without streams; without it one inside." name:"nats" placeholder:"URL"`
	Replicas int      `help:"Replicas of each stream on an external cluster." default:"1"`
}

// Run puts a memory back into a new data directory.
func (k restoreCmd) Run(ctx context.Context, c *cli, t terminal) error {
	if c.Addr != "" {
		return fmt.Errorf("%w: a restore makes a data directory, and has no use for --addr", errMisuse)
	}
	in := backup.Inputs{Data: k.From, Keys: k.Keys, Ledger: k.Ledger}
	for _, path := range k.Anchor {
		b, err := os.ReadFile(filepath.Clean(path))
		if err != nil {
			return fmt.Errorf("%w: anchor: %w", errMisuse, err)
		}
		in.Anchors = append(in.Anchors, b)
	}
	if k.Public != "" {
		b, err := os.ReadFile(filepath.Clean(k.Public))
		if err != nil {
			return fmt.Errorf("%w: public key: %w", errMisuse, err)
		}
		in.Public = strings.TrimSpace(string(b))
	}
	r, err := node.Restore(ctx, node.RestoreOptions{
		Data: c.Data, Inputs: in, Root: k.Root, Signer: k.Signer, NATS: k.NATS, Replicas: k.Replicas, Logger: c.logger(t),
	})
	if errors.Is(err, node.ErrNotEmpty) || errors.Is(err, backup.ErrNoLedger) {
		return fmt.Errorf("%w: %w", errMisuse, err)
	}
	if err != nil {
		return fmt.Errorf("nothing was restored that may be served: %w", err)
	}
	if c.JSON {
		return printJSON(t, r)
	}
	return sayRestored(c, t, r)
}

func sayRestored(c *cli, t terminal, r backup.Report) error {
	lost := "nothing is lost"
	if r.Lost > 0 {
		lost = fmt.Sprintf("%d positions are lost, from %d to %d", r.Lost, r.LostFrom, r.LostTo)
	}
	if err := say(t, "restored %s up to %d: %s\n%d tombstones: %d were not in the log and are again, %d facts went with them\n%d positions are erased\nepoch %d begins\n",
		c.Data, r.Restored, lost, r.Tombstones, r.Appended, r.Cascaded, r.Erased, r.Epoch); err != nil {
		return err
	}
	if r.Held > 0 {
		if err := say(t, "%d kept their keys for a legal hold\n", r.Held); err != nil {
			return err
		}
	}
	if r.Changes > 0 {
		err := say(t, "%d legal holds, ends of holds, consents and withdrawals were not in the log and are again, %d of them consents without their words\n",
			r.Changes, r.Bare)
		if err != nil {
			return err
		}
	}
	if r.NewKey {
		return say(t, "the ledger has a new key: hand out %s, and take a backup now\n", filepath.Join(c.Data, "ledger.pub"))
	}
	return nil
}
