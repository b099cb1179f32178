package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/annals-memory/annals/cmd/annals/internal/bench"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/producers/embed"
)

type benchCmd struct {
	Durability string `help:"power or process." enum:"power,process" default:"process"`
	Sizes      []int  `help:"Numbers of episodes in one scope at which recall is measured; above 10,000 with a stand-in for the model." default:"1000,10000,100000"`
	Calls      int    `help:"Single calls per latency." default:"5000"`
	Facts      int    `help:"Facts to propose." default:"20000"`
	CPUProfile string `help:"Write a CPU profile of the recalls here." name:"cpuprofile" placeholder:"FILE"`
}

// Run measures in one run, beside raw references taken in the same run.
func (k benchCmd) Run(ctx context.Context, c *cli, t terminal) error {
	if len(k.Sizes) == 0 || !slices.IsSorted(k.Sizes) || k.Sizes[0] < 1 || k.Calls < 100 || k.Facts < 10 {
		return fmt.Errorf("%w: --sizes must ascend from 1, --calls be 100 or more, --facts 10 or more", errMisuse)
	}
	tctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go node.TendCollector(tctx) // as a server does
	bar := newBar(t, c.JSON, "bench")
	report, err := bench.Run(ctx, k.open(c, t), bench.Options{
		Sizes: k.Sizes, Calls: k.Calls, Facts: k.Facts, CPUProfile: k.CPUProfile, Progress: bar.set,
	})
	bar.finish()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if c.JSON {
		return printJSON(t, report)
	}
	if err := say(t, "%-42s %10s %10s %12s %8s  %s\n", "", "p50 ms", "p99 ms", "per second", "ratio", "to"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(report)) {
		f := report[name]
		switch {
		case f.Bytes > 0:
			err = say(t, "%-42s %40.0f bytes\n", name, f.Bytes)
		case f.PerSecond == 0:
			err = say(t, "%-42s %32d\n", name, f.N)
		default:
			err = say(t, "%-42s %10s %10s %12.0f %8s  %s\n", name, cell(f.P50ms), cell(f.P99ms), f.PerSecond, cell(f.Ratio), f.Of)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open makes nodes in temporary directories.
func (k benchCmd) open(c *cli, t terminal) bench.Open {
	return func(ctx context.Context, model embed.Embedder) (_ bench.Opened, err error) {
		dir, err := os.MkdirTemp("", "annals-bench-")
		if err != nil {
			return bench.Opened{}, fmt.Errorf("make directory: %w", err)
		}
		n, err := node.Open(ctx, node.Options{
			Data: dir, Durability: k.Durability, Model: model, Logger: c.logger(t), CacheBytes: 256 << 20,
		})
		if err != nil {
			return bench.Opened{}, errors.Join(fmt.Errorf("open: %w", err), os.RemoveAll(dir))
		}
		stop := n.Start(ctx)
		return bench.Opened{Node: n, Dir: dir, Close: func() error {
			return errors.Join(stop(), n.Close(), os.RemoveAll(dir))
		}}, nil
	}
}

func cell(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", v)
}
