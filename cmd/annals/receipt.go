package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/tombstones"
)

type erasureCmd struct {
	ID     string `arg:"" optional:"" help:"Erasure, as the forget answered it; without it all are listed, newest first."`
	Cursor string `help:"Go on behind the page before."`
	Limit  *int   `help:"How many to list, at most 200."`
}

// Run shows how far an erasure has come, or lists what erasures there are.
func (k erasureCmd) Run(ctx context.Context, c *cli, t terminal) error {
	if k.ID == "" {
		return c.reading(ctx, t, func(s *session) error { return k.list(ctx, c, t, s) })
	}
	if k.Cursor != "" || k.Limit != nil {
		return fmt.Errorf("%w: --cursor and --limit are for the list", errMisuse)
	}
	return c.reading(ctx, t, func(s *session) error {
		var out tombstones.Status
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/erasures/" + pathSegment(k.ID), Out: &out}); err != nil {
			return fmt.Errorf("erasure: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		if err := say(t, "%s, %d matched by %s%s, asked for at %s\n",
			out.Level, out.Matched, out.Scope, lateOf(out), out.RequestedAt.Format(stampFormat)); err != nil {
			return err
		}
		return printStores(t, out.Stores)
	})
}

// lateOf is how many came late, nothing if none did.
func lateOf(s tombstones.Status) string {
	if s.Late == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more came while it began", s.Late)
}

func (k erasureCmd) list(ctx context.Context, c *cli, t terminal, s *session) error {
	q := url.Values{}
	if k.Cursor != "" {
		q.Set("cursor", k.Cursor)
	}
	if k.Limit != nil {
		q.Set("limit", strconv.Itoa(*k.Limit))
	}
	var out tombstones.Erasures
	if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/erasures?" + q.Encode(), Out: &out}); err != nil {
		return fmt.Errorf("erasures: %w", err)
	}
	if c.JSON {
		return printJSON(t, out)
	}
	for _, e := range out.Erasures {
		if err := say(t, "%s  %s  %-12s %d matched by %s%s\n",
			e.ErasureID, e.RequestedAt.Format(stampFormat), e.Level, e.Matched, e.Scope, lateOf(e)); err != nil {
			return err
		}
	}
	if out.Cursor != "" {
		return say(t, "more with --cursor %s\n", out.Cursor)
	}
	return nil
}

const stampFormat = "2006-01-02 15:04:05Z07:00"

func printStores(t terminal, stores []tombstones.Store) error {
	for _, s := range stores {
		until := ""
		if s.PendingUntil != nil {
			until = ", due at " + s.PendingUntil.Format(stampFormat)
		}
		if err := say(t, "%-11s %d of %d, %d failed%s\n", s.Store, s.Done, s.Planned, s.Failed, until); err != nil {
			return err
		}
	}
	return nil
}

type receiptCmd struct {
	Of     receiptOfCmd     `cmd:"" default:"withargs" help:"Print the signed receipt of an erasure (the default)."`
	Verify receiptVerifyCmd `cmd:"" help:"Say whether a receipt is what was signed and proves what it says."`
}

type receiptOfCmd struct {
	ID string `arg:"" help:"Erasure, as the forget answered it."`
}

// Run prints a receipt as it is served.
func (k receiptOfCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out tombstones.SignedReceipt
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/erasures/" + pathSegment(k.ID) + "/receipt", Out: &out}); err != nil {
			return fmt.Errorf("receipt: %w", err)
		}
		return printJSON(t, out)
	})
}

type receiptVerifyCmd struct {
	File string `arg:"" help:"The receipt." type:"existingfile"`
	Key  string `help:"File with the public key; without it the data directory's." placeholder:"FILE"`
}

// Run verifies a receipt, wherever it is: all it needs is the public key.
func (k receiptVerifyCmd) Run(c *cli, t terminal) error {
	path := k.Key
	if path == "" {
		path = filepath.Join(c.Data, "ledger.pub")
	}
	public, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("%w: public key: %w", errMisuse, err)
	}
	verifier, err := note.NewVerifier(strings.TrimSpace(string(public)))
	if err != nil {
		return fmt.Errorf("%w: %s is no public key of a ledger", errMisuse, path)
	}
	b, err := os.ReadFile(filepath.Clean(k.File))
	if err != nil {
		return fmt.Errorf("%w: %w", errMisuse, err)
	}
	r, err := tombstones.VerifyReceipt(b, verifier)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if c.JSON {
		return printJSON(t, r)
	}
	if err := say(t, "receipt of erasure %s is what %s+%08x signed, and its tombstone is at %d\n",
		r.ErasureID, verifier.Name(), verifier.KeyHash(), r.Tombstone.Position); err != nil {
		return err
	}
	for _, l := range r.Levels {
		at := "not yet, due at " + l.Due.Format(stampFormat)
		if l.At != nil {
			at = l.At.Format(stampFormat)
		}
		if err := say(t, "%-12s %s\n", l.Level, at); err != nil {
			return err
		}
	}
	return printStores(t, r.Stores)
}
