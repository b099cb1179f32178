package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/producers/guard"
)

type evalAllCmd struct {
	Dir   string `arg:"" help:"Directory with a folder for each data set; what is measured on one is told by its files."`
	Out   string `help:"Write eval.json and the chart eval.svg into this folder." placeholder:"FOLDER" type:"path"`
	Limit int    `help:"Only so many attacks on the gate, always the same ones; 0 is all." default:"30"`
}

// Run measures all that there are data for.
func (k evalAllCmd) Run(ctx context.Context, c *cli, t terminal) error {
	b := newBar(t, c.JSON, "eval")
	report, err := eval.All(ctx, eval.Rig{
		Scratch: func(ctx context.Context, f func(eval.Target) error) error {
			return c.scratch(ctx, t, func(n *node.Node) error { return f(n) })
		},
		Gate:    func(ctx context.Context, f func(eval.GateNode) error) error { return c.gateNode(ctx, t, f) },
		Scanner: guard.Default(), Now: time.Now, Attacks: k.Limit,
	}, k.Dir, b.set)
	b.finish()
	report.Version = version()
	if err != nil && !errors.Is(err, eval.ErrMissed) {
		return fmt.Errorf("eval: %w", err)
	}
	if k.Out != "" {
		err = errors.Join(err, writeEval(k.Out, &report))
	}
	if c.JSON {
		return errors.Join(printJSON(t, report), err)
	}
	return errors.Join(k.say(t, &report), err)
}

func (evalAllCmd) say(t terminal, r *eval.AllReport) error {
	const row = "%-20s %-10s %-44s %6s  %-16s %6s  %-8s %s\n"
	if err := say(t, row, "data", "eval", "measure", "value", "95 % interval", "n", "wanted", ""); err != nil {
		return err
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		interval, wanted, met := "", "", ""
		if f.Interval != nil {
			interval = fmt.Sprintf("[%s, %s]", eval.Number(f.Interval.Low), eval.Number(f.Interval.High))
		}
		if f.Target != nil {
			if wanted, met = f.Target.String(), "met"; !f.Target.Met {
				met = "missed"
			}
		}
		if err := say(t, row, f.Set, f.Eval, f.Measure, eval.Number(f.Value), interval, fmt.Sprint(f.N), wanted, met); err != nil {
			return err
		}
	}
	for _, run := range r.Runs {
		if run.Error != "" {
			if err := say(t, "%-20s %-10s failed: %s\n", run.Set, run.Eval, run.Error); err != nil {
				return err
			}
		}
	}
	for _, name := range r.Skipped {
		if err := say(t, "%-20s is no known data set\n", name); err != nil {
			return err
		}
	}
	return say(t, "%s in %.0f s\n", eval.Plural(len(r.Runs), "measurement"), r.Seconds)
}

// writeEval writes a report as JSON and as a chart.
func writeEval(dir string, r *eval.AllReport) (err error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	text, err := json.Marshal(r, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "eval.json"), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write figures: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "eval.svg"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // The operator names the folder.
	if err != nil {
		return fmt.Errorf("write chart: %w", err)
	}
	return errors.Join(eval.Chart(f, r), f.Close())
}
