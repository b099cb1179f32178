package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

type evalCmd struct {
	Retrieval evalRetrievalCmd `cmd:"" help:"Recall of a corpus: R@5, R@10, MRR@10, nDCG@10."`
	AsOf      evalAsOfCmd      `cmd:"" name:"asof" help:"Dated facts proposed in shuffled order, asked as of a time."`
}

type evalRetrievalCmd struct {
	Dir string `arg:"" help:"Directory with corpus.jsonl, queries.jsonl and qrels.tsv, plain or gzipped."`
}

type evalAsOfCmd struct {
	Dir  string `arg:"" help:"Directory with facts.jsonl and queries.jsonl, plain or gzipped."`
	Seed uint64 `help:"Seed of the order." default:"1"`
}

// scratch runs f on a node of its own in a temporary directory.
func (c *cli) scratch(ctx context.Context, t terminal, durability string, f func(*node.Node) error) (err error) {
	dir, err := os.MkdirTemp("", "annals-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	n, err := node.Open(ctx, node.Options{Data: dir, Durability: durability, Logger: c.logger(t)})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	stop := n.Start(ctx)
	defer func() { err = errors.Join(err, stop(), n.Close()) }()
	return f(n)
}

// Run measures recall.
func (k evalRetrievalCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.scratch(ctx, t, "process", func(n *node.Node) error {
		b := newBar(t, c.JSON, "eval")
		report, err := eval.Retrieval(ctx, n, k.Dir, b.set)
		b.finish()
		if err != nil {
			return fmt.Errorf("eval retrieval: %w", err)
		}
		if c.JSON {
			return printJSON(t, report)
		}
		if err := say(t, "%-24s %6s %7s %7s %7s %7s\n", "category", "n", "R@5", "R@10", "MRR@10", "nDCG@10"); err != nil {
			return err
		}
		row := func(name string, m eval.Metrics) error {
			return say(t, "%-24s %6d %7.3f %7.3f %7.3f %7.3f\n", name, m.N, m.Recall5, m.Recall10, m.MRR10, m.NDCG10)
		}
		for _, name := range slices.Sorted(maps.Keys(report.ByCategory)) {
			if err := row(name, report.ByCategory[name]); err != nil {
				return err
			}
		}
		return row("overall", report.Overall)
	})
}

// Run measures as-of answers.
func (k evalAsOfCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.scratch(ctx, t, "process", func(n *node.Node) error {
		b := newBar(t, c.JSON, "eval")
		report, err := eval.AsOf(ctx, n, k.Dir, k.Seed, b.set)
		b.finish()
		if err != nil {
			return fmt.Errorf("eval asof: %w", err)
		}
		if c.JSON {
			return printJSON(t, report)
		}
		return say(t, "exact %.4f of %d questions (%.4f of all %d), a gold value %.4f, %d facts\n",
			report.Exact, report.N, report.ExactAll, report.NAll, report.Any, report.Facts)
	})
}
