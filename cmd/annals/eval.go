package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/producers/guard"
)

type evalCmd struct {
	All       evalAllCmd       `cmd:"" default:"withargs" help:"Everything that there are data for: one table, and with --out figures as JSON and a chart."`
	Retrieval evalRetrievalCmd `cmd:"" help:"Recall of a corpus: R@5, R@10, MRR@10, nDCG@10."`
	AsOf      evalAsOfCmd      `cmd:"" name:"asof" help:"Dated facts proposed in shuffled order, asked as of a time."`
	Updates   evalUpdatesCmd   `cmd:"" help:"Questions whose answer has changed: whether the update comes before the stale statement, without and with facts."`
	Contracts evalContractsCmd `cmd:"" help:"Cases with updates, deletions, conflicts and near misses: what is returned that must not be."`
	Guard     evalGuardCmd     `cmd:"" help:"Recall and false positives of the guardrail scanner, by source."`
	Gate      evalGateCmd      `cmd:"" help:"Attacks on the promotion gate by many ways: what is promoted without a review, which must be nothing."`
	PII       evalPIICmd       `cmd:"" name:"pii" help:"Recall and precision of the recognisers of personal data, by type."`
	Traces    evalTracesCmd    `cmd:"" help:"Compare weights of the ranking on the recalls that agents have judged; nothing is written."`
}

type evalRetrievalCmd struct {
	Dir string `arg:"" help:"Directory with corpus.jsonl, queries.jsonl and qrels.tsv, plain or gzipped."`
}

type evalAsOfCmd struct {
	Dir  string `arg:"" help:"Directory with facts.jsonl and queries.jsonl, plain or gzipped."`
	Seed uint64 `help:"Seed of the order." default:"1"`
}

type evalGuardCmd struct {
	Dir      string `arg:"" help:"Directory with corpus.jsonl, plain or gzipped; locomo and beam_100k beside it are scanned, too."`
	Half     string `help:"Only the texts of the half that rules are tuned on (even) or of the other (odd)." enum:",even,odd" default:""`
	Families bool   `help:"A line for each family of a source."`
	Rules    string `help:"File with other rules than those built in." type:"existingfile"`
}

type evalPIICmd struct {
	Dir string `arg:"" help:"Directory with presidio_generated_small.json, plain or gzipped."`
}

// scratch runs f on a node of its own in a temporary directory.
func (c *cli) scratch(ctx context.Context, t terminal, f func(*node.Node) error) (err error) {
	dir, err := os.MkdirTemp("", "annals-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	n, err := node.Open(ctx, node.Options{Data: dir, Durability: "process", Logger: c.logger(t)})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	stop := n.Start(ctx)
	defer func() { err = errors.Join(err, stop(), n.Close()) }()
	return f(n)
}

// Run measures recall.
func (k evalRetrievalCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.scratch(ctx, t, func(n *node.Node) error {
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
	return c.scratch(ctx, t, func(n *node.Node) error {
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

// Run measures the scanner.
func (k evalGuardCmd) Run(c *cli, t terminal) error {
	s := guard.Default()
	if k.Rules != "" {
		text, err := os.ReadFile(k.Rules)
		if err != nil {
			return fmt.Errorf("read rules: %w", err)
		}
		if s, err = guard.New(text); err != nil {
			return fmt.Errorf("eval guard: %w", err)
		}
	}
	report, err := eval.Guard(s, k.Dir, k.Half, k.Families, time.Now)
	if err != nil {
		return fmt.Errorf("eval guard: %w", err)
	}
	if c.JSON {
		return printJSON(t, report)
	}
	if err := say(t, "%-7s %-40s %6s %7s %-17s %7s %8s %9s\n", "label", "source", "n", ">=30", "95 % interval", ">=80", "secrets", "personal"); err != nil {
		return err
	}
	for _, r := range report.Sources {
		if err := say(t, "%-7s %-40s %6d %7.4f [%.4f, %.4f]  %7.4f %8.4f %9.4f\n", r.Label, r.Source, r.Review.N,
			r.Review.Share, r.Review.Low, r.Review.High, r.Reject.Share, r.Secrets.Share, r.Personal.Share); err != nil {
			return err
		}
	}
	return say(t, "rules %s (version %s), a scan of 4 KB takes %.0f us (median), %.0f us (99 %%)\n", report.Rules, report.Version, report.Median, report.P99)
}

// Run measures the recognisers.
func (k evalPIICmd) Run(c *cli, t terminal) error {
	report, err := eval.PII(guard.Default(), k.Dir)
	if err != nil {
		return fmt.Errorf("eval pii: %w", err)
	}
	if c.JSON {
		return printJSON(t, report)
	}
	if err := say(t, "%-20s %-14s %5s %7s %-17s %9s %5s %9s\n", "type", "kind", "n", "recall", "95 % interval", "any kind", "found", "precision"); err != nil {
		return err
	}
	for _, r := range report.Types {
		if err := say(t, "%-20s %-14s %5d %7.3f [%.3f, %.3f]    %9.3f %5d %9.3f\n", r.Type, r.Kind, r.Recall.N, r.Recall.Share,
			r.Recall.Low, r.Recall.High, r.AnyKind.Share, r.Precision.N, r.Precision.Share); err != nil {
			return err
		}
	}
	return nil
}
