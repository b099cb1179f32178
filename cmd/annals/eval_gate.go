package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/bench"
	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
)

type evalGateCmd struct {
	Dir   string `arg:"" help:"Directory with corpus.jsonl, plain or gzipped; its label says what is an attack."`
	From  int    `help:"Leave so many attacks out first: with --limit the whole goes in parts, each with its controls." default:"0"`
	Limit int    `help:"Only so many attacks, always the same ones; 0 is all." default:"0"`
}

// errPromoted says that the gate let something through.
var errPromoted = errors.New("an attack was promoted without a review")

// Run measures the gate.
func (k evalGateCmd) Run(ctx context.Context, c *cli, t terminal) error {
	attacks, err := eval.ReadAttacks(k.Dir, k.From, k.Limit)
	if err != nil {
		return fmt.Errorf("eval gate: %w", err)
	}
	b := newBar(t, c.JSON, "eval")
	var report eval.GateReport
	err = c.gateNode(ctx, t, func(n eval.GateNode) (err error) {
		start := time.Now()
		report, err = eval.Gate(ctx, n, attacks, b.set)
		report.Seconds = time.Since(start).Seconds()
		return err
	})
	b.finish()
	if err != nil && !errors.Is(err, eval.ErrVoid) {
		return fmt.Errorf("eval gate: %w", err)
	}
	if err == nil && report.Unreviewed > 0 {
		err = errPromoted
	}
	if c.JSON {
		return errors.Join(printJSON(t, report), err)
	}
	return errors.Join(k.say(t, report), err)
}

// gateNode runs f on a node of its own in a temporary directory, whose memories are
// embedded by the stand-in: no model has a say in what is promoted.
func (c *cli) gateNode(ctx context.Context, t terminal, f func(eval.GateNode) error) (err error) {
	dir, err := os.MkdirTemp("", "annals-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	n, err := node.Open(ctx, node.Options{Data: dir, Durability: "process", Model: bench.StandIn{}, Logger: c.logger(t)})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	stop := n.Start(ctx)
	defer func() { err = errors.Join(err, stop(), n.Close()) }()
	authority, err := node.OpenAuthority(dir, time.Now)
	if err != nil {
		return fmt.Errorf("open authority: %w", err)
	}
	return f(eval.GateNode{
		Log: n.Log(), Settle: n.Settle,
		Client: func(caller events.Caller) (*client.Client, error) {
			token, err := authority.Issue(caller, 24*time.Hour)
			if err != nil {
				return nil, fmt.Errorf("issue a token: %w", err)
			}
			return client.InProcess(n.Handler(), token), nil
		},
	})
}

func (evalGateCmd) say(t terminal, r eval.GateReport) error {
	if err := say(t, "%-10s %-16s %7s %9s %7s %9s %8s %12s %11s\n",
		"by", "", "n", "promoted", "review", "rejected", "refused", "unreachable", "provenance"); err != nil {
		return err
	}
	for _, by := range []struct {
		name string
		of   map[string]eval.GateFigures
	}{{"channel", r.ByChannel}, {"variant", r.ByVariant}, {"proposer", r.ByProposer}} {
		for _, name := range slices.Sorted(maps.Keys(by.of)) {
			f := by.of[name]
			if err := say(t, "%-10s %-16s %7d %9d %7d %9d %8d %12d %11d\n", by.name, name, f.N, f.Promoted,
				f.Review+f.Quarantined, f.Rejected, f.Refused, f.Unreachable, f.ByProvenance); err != nil {
				return err
			}
		}
	}
	for _, v := range slices.Sorted(maps.Keys(r.Controls.Benign)) {
		p, e, o := r.Controls.Benign[v], r.Controls.Reviewed["external"][v], r.Controls.Reviewed["tool"][v]
		if err := say(t, "promoted as they must be, %-16s harmless %d of %d, reviewed from outside %d of %d, from a tool %d of %d\n",
			v+":", p.Promoted, p.N, e.Promoted, e.N, o.Promoted, o.N); err != nil {
			return err
		}
	}
	return say(t, "promoted without a review: %d of %d proposals made of %d attacks, in %.0f s\n", r.Unreviewed, r.N, r.Texts, r.Seconds)
}
