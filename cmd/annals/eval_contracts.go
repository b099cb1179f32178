package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

type evalContractsCmd struct {
	Dir string `arg:"" help:"Directory with files of cases, JSON, plain or gzipped."`
	K   int    `help:"Results of a recall; 0 is the default." name:"k"`

	Plain bool `help:"The control: keep every event as an episode, whatever it says."`
}

// Run measures what is returned against a contract.
func (k evalContractsCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.scratch(ctx, t, func(n *node.Node) error {
		b := newBar(t, c.JSON, "eval")
		report, err := eval.Contracts(ctx, n, k.Dir, eval.ContractsOptions{K: k.K, Plain: k.Plain}, b.set)
		b.finish()
		if err != nil {
			return fmt.Errorf("eval contracts: %w", err)
		}
		if c.JSON {
			return printJSON(t, report)
		}
		if err := say(t, "%-40s %5s %9s %9s %7s\n", "read", "n", "forbidden", "queries", "gold"); err != nil {
			return err
		}
		for _, of := range []map[string]eval.ContractFigures{report.Overall, report.ByCategory} {
			for _, name := range slices.Sorted(maps.Keys(of)) {
				f := of[name]
				if err := say(t, "%-40s %5d %9d %9d %7.3f\n", name, f.N, f.Forbidden, f.WithForbidden, f.Gold); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
