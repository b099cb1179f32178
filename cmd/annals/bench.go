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
)

type benchCmd struct {
	Durability string `help:"power or process." enum:"power,process" default:"process"`
	Sizes      []int  `help:"Numbers of episodes in one scope at which recall is measured." default:"1000,10000,100000"`
	Calls      int    `help:"Single calls per latency." default:"5000"`
	Facts      int    `help:"Facts to propose." default:"20000"`
	CPUProfile string `help:"Write a CPU profile of the recalls here." name:"cpuprofile" placeholder:"FILE"`
}

// Run measures in one run, beside raw references taken in the same run.
func (k benchCmd) Run(ctx context.Context, c *cli, t terminal) (err error) {
	if len(k.Sizes) == 0 || !slices.IsSorted(k.Sizes) || k.Sizes[0] < 1 || k.Calls < 100 || k.Facts < 10 {
		return fmt.Errorf("%w: --sizes must ascend from 1, --calls be 100 or more, --facts 10 or more", errMisuse)
	}
	dir, err := os.MkdirTemp("", "annals-bench-")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	n, err := node.Open(ctx, node.Options{Data: dir, Durability: k.Durability, Logger: c.logger(t), CacheBytes: 256 << 20})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	stop := n.Start(ctx)
	defer func() { err = errors.Join(err, stop(), n.Close()) }()
	bar := newBar(t, c.JSON, "bench")
	report, err := bench.Run(ctx, n, dir, bench.Options{Sizes: k.Sizes, Calls: k.Calls, Facts: k.Facts, CPUProfile: k.CPUProfile, Progress: bar.set})
	bar.finish()
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if c.JSON {
		return printJSON(t, report)
	}
	if err := say(t, "%-34s %10s %10s %12s %8s  %s\n", "", "p50 ms", "p99 ms", "per second", "ratio", "to"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(report)) {
		f := report[name]
		if f.Bytes > 0 {
			err = say(t, "%-34s %40.0f bytes\n", name, f.Bytes)
		} else {
			err = say(t, "%-34s %10s %10s %12.0f %8s  %s\n", name, cell(f.P50ms), cell(f.P99ms), f.PerSecond, cell(f.Ratio), f.Of)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func cell(v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", v)
}
