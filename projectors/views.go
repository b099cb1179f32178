package projectors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"golang.org/x/sync/errgroup"
)

// Views are the serving generations of all projections. They are safe for concurrent use.
type Views struct {
	cfg   Config
	cache *pebble.Cache
	// lanes are in the order of the names of their projections.
	lanes []*lane
	// sources are kept between reads.
	sources sourceCache
}

// Open opens the views in a folder, or begins them there, and checks that they were built from this log and by this
// version of their projections. A view that was not is replaced by an empty one, which Run fills again. It starts nothing.
func Open(ctx context.Context, cfg Config) (*Views, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	v := &Views{cfg: cfg, cache: newCache(&cfg)}
	for _, s := range []*spec{factsSpec(), memoriesSpec(&v.cfg, v.cfg.wanted()), tracesSpec()} {
		l, err := openLane(&v.cfg, s, v.cache)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", s.name, err), v.Close())
		}
		v.lanes = append(v.lanes, l)
		if _, err := l.start(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", s.name, err), v.Close())
		}
		if err := l.sweepIndexes(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s: %w", s.name, err), v.Close())
		}
	}
	return v, nil
}

// Run follows the log with every view until the context ends or a view fails, and returns why. It may be called again, but
// not twice at a time.
func (v *Views) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range v.lanes {
		group.Go(func() error {
			if err := l.run(ctx); err != nil {
				return fmt.Errorf("run %s: %w", l.spec.name, err)
			}
			return nil
		})
	}
	return group.Wait() //nolint:wrapcheck // wrapped above, each with its name.
}

// Close makes what is folded durable and closes the stores. Run must have returned; a replay or a verification is waited
// for. What is asked of the views afterwards is [ErrClosed]. Snapshots that are still open keep their stores open.
func (v *Views) Close() error {
	var errs []error
	for _, l := range v.lanes {
		errs = append(errs, l.close())
	}
	if v.cache != nil {
		v.cache.Unref()
		v.cache = nil
	}
	return errors.Join(errs...)
}

// WaitFor returns when every serving view has folded the log up to the position. If the context ends first, the error
// matches [events.ErrBehind].
func (v *Views) WaitFor(ctx context.Context, position uint64) error {
	for _, l := range v.lanes {
		if err := l.wait(ctx, position); err != nil {
			return err
		}
	}
	return nil
}

// Position returns the lowest position of the serving views.
func (v *Views) Position() uint64 {
	lowest := v.lanes[0].position()
	for _, l := range v.lanes[1:] {
		lowest = min(lowest, l.position())
	}
	return lowest
}

// Status tells where every view stands, in the order of their names.
func (v *Views) Status(ctx context.Context) []Status {
	state, err := v.cfg.Log.State(ctx)
	list := make([]Status, len(v.lanes))
	for i, l := range v.lanes {
		list[i] = l.status(state.Last, err == nil)
	}
	return list
}

func (v *Views) lane(name string) (*lane, error) {
	for _, l := range v.lanes {
		if l.spec.name == name {
			return l, nil
		}
	}
	return nil, ErrUnknownProjection
}

// Replay builds the next generation of a projection from the beginning of the log beside the serving one, compares the two
// at one position and hands over. If their digests differ the error matches [ErrDigest] and the serving one stays. A second
// one at the same time is [ErrBusy]. progress, if not nil, is called from the same goroutine after every chunk.
func (v *Views) Replay(ctx context.Context, name string, progress func(Progress)) (ReplayResult, error) {
	l, err := v.lane(name)
	if err != nil {
		return ReplayResult{}, err
	}
	return l.replay(ctx, nil, progress)
}

// Build builds the next generation of the memories as Replay does, but makes its search index with another recipe, and makes
// that the recipe of memories that are begun anew. The serving generation goes on with its own until the switch, which is one
// step: a [Snapshot] is of the one or of the other. Vectors of the model that are not in the log by then are indexed as they come.
func (v *Views) Build(ctx context.Context, r Recipe, progress func(Progress)) (ReplayResult, error) {
	if !v.cfg.readable(r) || !slices.ContainsFunc(v.cfg.Tokenizers, func(t Tokenizer) bool { return t.Name == r.Tokenizer }) {
		return ReplayResult{}, fmt.Errorf("build: recipe cannot be read: %w", ErrConfig)
	}
	l, err := v.lane(Memories)
	if err != nil {
		return ReplayResult{}, err
	}
	return l.replay(ctx, memoriesSpec(&v.cfg, r), progress)
}

// Recipe is what the search index of the serving memories is made with.
func (v *Views) Recipe() Recipe {
	l, err := v.lane(Memories)
	if err != nil {
		return Recipe{}
	}
	return l.current().recipe
}

// Building is how far the next generation of the memories is, nil if none is built.
func (v *Views) Building() *Build {
	l, err := v.lane(Memories)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.building == nil {
		return nil
	}
	b := *l.building
	return &b
}

// Head is the position of the last message of the log.
func (v *Views) Head(ctx context.Context) (uint64, error) {
	state, err := v.cfg.Log.State(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask log: %w", err)
	}
	return state.Last, nil
}

// Wanted is the recipe of memories that are begun, by the configuration. It differs from [Views.Recipe] where one is to be built.
func (v *Views) Wanted() Recipe { return v.cfg.wanted() }

// Verify compares what a view says of itself, what it holds, and what a fresh fold of the log gives, all at one position.
// It holds a snapshot of the view meanwhile. A difference is no error: see [VerifyResult.OK].
func (v *Views) Verify(ctx context.Context, name string, progress func(Progress)) (VerifyResult, error) {
	l, err := v.lane(name)
	if err != nil {
		return VerifyResult{}, err
	}
	return l.verify(ctx, progress)
}

// RetryParked folds the parked commits of a projection again, in the order of the log within each aggregate. Those that
// fail again stay parked; the view's followers wait meanwhile.
func (v *Views) RetryParked(ctx context.Context, name string) (RetryResult, error) {
	l, err := v.lane(name)
	if err != nil {
		return RetryResult{}, err
	}
	return l.retry(ctx)
}
