package main

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

type evalUpdatesCmd struct {
	Dir string `arg:"" help:"Directory with corpus.jsonl, queries.jsonl and roles.tsv, plain or gzipped."`
}

// Run measures whether what is current comes before what is stale.
func (k evalUpdatesCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.scratch(ctx, t, func(n *node.Node) error {
		b := newBar(t, c.JSON, "eval")
		report, err := eval.Updates(ctx, n, k.Dir, b.set)
		b.finish()
		if err != nil {
			return fmt.Errorf("eval updates: %w", err)
		}
		if c.JSON {
			return printJSON(t, report)
		}
		for _, row := range []struct {
			what string
			of   eval.Share
		}{
			{"the update above the stale statement, without facts", report.Without},
			{"the update above the stale statement, with facts", report.With},
			{"stale statements found that name the fact instead", report.Marked},
			{"answers of ten with the stale statement alone, unmarked", report.StaleOnly},
		} {
			if err := say(t, "%-56s %.3f of %d [%.3f, %.3f]\n", row.what, row.of.Share, row.of.N, row.of.Low, row.of.High); err != nil {
				return err
			}
		}
		return say(t, "%d updates are in one message with what they update, and are left out\n", report.OneMessage)
	})
}
