package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/tombstones/ledger"
)

type proveCmd struct {
	Position uint64 `arg:"" help:"Position in the log."`
}

// Run fetches the proof of a position and verifies it with the public key of
// the data directory.
func (k proveCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		public, err := ledger.LoadVerifier(c.Data)
		if err != nil {
			return fmt.Errorf("prove: %w", err)
		}
		var p ledger.Proof
		path := "/v1/ledger/proof/" + strconv.FormatUint(k.Position, 10)
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: path, Out: &p}); err != nil {
			return fmt.Errorf("prove: %w", err)
		}
		checkpoint, err := p.Verify(public)
		if err == nil && p.Position != k.Position {
			err = ledger.ErrBadProof
		}
		if err != nil {
			return fmt.Errorf("prove: %w", err)
		}
		if c.JSON {
			return printJSON(t, p)
		}
		return say(t, "position %d is covered: leaf %.16s, %d hashes to the root of %d positions, signed by %s+%08x\n\n%s",
			p.Position, p.LeafHash, len(p.Hashes), checkpoint.Size, public.Name(), public.KeyHash(), p.Checkpoint)
	})
}
