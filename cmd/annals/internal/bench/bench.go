package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers/embed"
)

// Options say how much is measured.
type Options struct {
	// Sizes are the numbers of episodes in one scope at which recall is
	// measured, ascending. Those above [BuiltInLimit] are measured with
	// [StandIn].
	Sizes []int
	// Calls is the number of single calls per latency.
	Calls int
	// Facts is the number of slots with facts.
	Facts int
	// CPUProfile is a file for a CPU profile of the recalls, "" for none.
	CPUProfile string
	// Progress is told what is being measured.
	Progress func(what string, done, total int)
}

// BuiltInLimit is the largest scope whose episodes the built-in model embeds:
// it takes some 10 ms for each.
const BuiltInLimit = 10_000

// Opened is a fresh node that runs.
type Opened struct {
	Node *node.Node
	// Dir is where all its files are.
	Dir string
	// Close stops it and removes its files.
	Close func() error
}

// Open opens a fresh node; a nil model is the built-in one.
type Open func(ctx context.Context, model embed.Embedder) (Opened, error)

// Run measures two fresh nodes, one after the other: latencies on one with the
// built-in model, large scopes and replays on one with [StandIn]. It fails if a
// replay does not come to the digest of the live view.
func Run(ctx context.Context, open Open, o Options) (Report, error) {
	r := Report{}
	var small, large []int
	for _, size := range o.Sizes {
		if size <= BuiltInLimit {
			small = append(small, size)
		} else {
			large = append(large, size)
		}
	}
	err := measure(ctx, open, nil, &bench{o: o, r: r}, func(b *bench) []step {
		return []step{
			{"raw publish", b.rawPublish},
			{"capture", b.capture},
			{"facts", b.facts},
			{"recall", func(ctx context.Context) error { return b.recall(ctx, small) }},
			{"size", b.size},
		}
	})
	if err != nil {
		return nil, err
	}
	err = measure(ctx, open, StandIn{}, &bench{o: o, r: r, standIn: true}, func(b *bench) []step {
		return []step{
			{"replay of a quarter", func(ctx context.Context) error { return b.replayQuarter(ctx, large) }},
			{"recall", func(ctx context.Context) error { return b.recall(ctx, large) }},
			{"size", b.size},
			{"replay", b.replayAll},
			{"forget", b.forget},
		}
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// step is one part of a measurement.
type step struct {
	name string
	do   func(context.Context) error
}

// measure does the steps on a fresh node.
func measure(ctx context.Context, open Open, model embed.Embedder, b *bench, steps func(*bench) []step) (err error) {
	debug.FreeOSMemory() // what the node before has left is not this one's
	opened, err := open(ctx, model)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	b.n, b.dir, b.w, b.caller = opened.Node, opened.Dir, NewWriter(1), auth.Local()
	for _, s := range steps(b) {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// bench is a measurement of one node.
type bench struct {
	n      *node.Node
	dir    string
	o      Options
	r      Report
	w      *Writer
	caller events.Caller
	// standIn says that the node embeds with [StandIn].
	standIn bool
	scope   int // episodes in the measured scope so far
	// memories counts all that was captured and proposed.
	memories atomic.Int64
	// quarter is the length of the log at the first replay, in messages.
	quarter uint64
	mixed   int // blocks of the mix so far
}
