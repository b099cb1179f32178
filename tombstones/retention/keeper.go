package retention

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

const (
	// pageSize is how many memories are looked at with one snapshot.
	pageSize = 500
	// MaxBatch is the most memories that one erasure ends.
	MaxBatch = 500
	// DefaultInterval is the time between two runs.
	DefaultInterval = time.Hour
)

// ErrConfig says that a keeper was made without something it needs.
var ErrConfig = errors.New("retention: configuration is incomplete")

// Config is what a keeper is made of. Schedule, Settler, Logger and Interval may be
// absent; all else is required.
type Config struct {
	// Schedule is nil where episodes and facts are kept.
	Schedule *Schedule
	// Settler is nil where what is no fact goes by the schedule alone.
	Settler  Settler
	Memories Memories
	Keys     Keys
	Log      Log
	Eraser   Eraser
	// Now is the clock that time is over by.
	Now func() time.Time
	// Interval is the time between two runs; 0 is DefaultInterval.
	Interval time.Duration
	// Logger is told counts; nil tells nobody.
	Logger *slog.Logger
}

// Keeper carries out a schedule. It is safe for concurrent use.
type Keeper struct {
	c Config
}

// New makes a keeper. It starts no goroutine. The error is ErrConfig.
func New(c Config) (*Keeper, error) {
	if c.Memories == nil || c.Keys == nil || c.Log == nil || c.Eraser == nil || c.Now == nil {
		return nil, ErrConfig
	}
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Keeper{c}, nil
}

// Run carries out the schedule at once and then at every interval, until the
// context ends. It does not return before, and then nil: what fails is told to the
// logger and tried again at the next interval. Without a schedule and a settler it
// does nothing.
func (k *Keeper) Run(ctx context.Context) error {
	if k.endsNothing() {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(k.c.Interval)
	defer tick.Stop()
	for {
		n, err := k.Pass(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			k.c.Logger.LogAttrs(ctx, slog.LevelError, "retention retries", slog.Int("erased", n), slog.String("cause", err.Error()))
		case n > 0:
			k.c.Logger.LogAttrs(ctx, slog.LevelInfo, "retention has erased", slog.Int("erased", n))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Pass ends what is over now, tenant by tenant, in batches of MaxBatch. It returns
// how many memories it has ended, those that were derived from them left out. A
// tenant that cannot be seen to does not stop the others; the error is the first
// of them.
func (k *Keeper) Pass(ctx context.Context) (erased int, err error) {
	if k.endsNothing() {
		return 0, nil
	}
	if err := k.caughtUp(ctx); err != nil {
		return 0, err
	}
	at := k.c.Now()
	var failed error
	for tenant, err := range k.c.Keys.Tenants(ctx) {
		if err != nil {
			return erased, errors.Join(failed, fmt.Errorf("list tenants: %w", err))
		}
		n, err := k.tenant(ctx, tenant, at)
		erased += n
		if err != nil && failed == nil {
			failed = err
		}
		if ctx.Err() != nil {
			return erased, fmt.Errorf("retention: %w", context.Cause(ctx))
		}
	}
	return erased, failed
}

func (k *Keeper) endsNothing() bool { return k.c.Schedule == nil && k.c.Settler == nil }

// caughtUp waits for the views: what was confirmed meanwhile is not over.
func (k *Keeper) caughtUp(ctx context.Context) error {
	state, err := k.c.Log.State(ctx)
	if err != nil {
		return fmt.Errorf("read state of the log: %w", err)
	}
	if err := k.c.Memories.WaitFor(ctx, state.Last); err != nil {
		return fmt.Errorf("wait for views: %w", err)
	}
	return nil
}

func (k *Keeper) tenant(ctx context.Context, tenant string, at time.Time) (erased int, err error) {
	t, err := k.c.Keys.TenantByToken(ctx, tenant)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return 0, nil // it was destroyed since it was listed
	}
	if err != nil {
		return 0, fmt.Errorf("find tenant: %w", err)
	}
	rules, err := k.rules(ctx, t, tenant)
	if err != nil {
		return 0, err
	}
	b := batch{k: k, tenant: tenant, due: make(map[events.Cause][]due)}
	err = k.walk(ctx, tenant, func(m *Memory) error {
		v := rules.judge(m, at)
		if !v.due {
			return nil
		}
		return b.add(ctx, m, v.cause)
	})
	if err == nil {
		err = b.flush(ctx)
	}
	return b.erased, err
}

// walk calls do with every memory of a tenant that can be over.
func (k *Keeper) walk(ctx context.Context, tenant string, do func(*Memory) error) error {
	lists := []func(context.Context, string, string, int) ([]Memory, string, error){k.c.Memories.Facts}
	if k.c.Schedule != nil { // without one they are kept
		lists = slices.Insert(lists, 0, k.c.Memories.Episodes)
	}
	for _, list := range lists {
		for after, more := "", true; more; {
			page, next, err := list(ctx, tenant, after, pageSize)
			if err != nil {
				return fmt.Errorf("list memories: %w", err)
			}
			for i := range page {
				if err := do(&page[i]); err != nil {
					return err
				}
			}
			after, more = next, next != ""
		}
	}
	return nil
}

// holds remembers which subjects are held, for as long as one batch or one preview takes.
type holds struct {
	log    Log
	tenant string
	known  map[string]bool
}

func (k *Keeper) holds(tenant string) *holds {
	return &holds{log: k.c.Log, tenant: tenant, known: make(map[string]bool)}
}

// has asks the log itself whether a subject is held.
func (h *holds) has(ctx context.Context, sid string) (bool, error) {
	if held, ok := h.known[sid]; ok {
		return held, nil
	}
	s, err := events.ReadSubject(ctx, h.log, h.tenant, sid)
	if err != nil {
		return false, fmt.Errorf("find holds: %w", err)
	}
	h.known[sid] = len(s.Holds) > 0
	return len(s.Holds) > 0, nil
}

// due is a memory whose time is over.
type due struct{ id, subject string }

// batch is what waits to be ended.
type batch struct {
	k      *Keeper
	tenant string
	due    map[events.Cause][]due
	erased int
}

func (b *batch) add(ctx context.Context, m *Memory, cause events.Cause) error {
	b.due[cause] = append(b.due[cause], due{m.ID, m.Subject})
	if len(b.due[cause]) < MaxBatch {
		return nil
	}
	return b.end(ctx, cause)
}

func (b *batch) flush(ctx context.Context) error {
	return errors.Join(b.end(ctx, events.CauseRetention), b.end(ctx, events.CauseExpiry))
}

// free takes what waits for one cause, but for what is held: a pass takes long, so
// that holds are looked for right before.
func (b *batch) free(ctx context.Context, cause events.Cause) ([]string, error) {
	list := b.due[cause]
	b.due[cause] = nil
	held := b.k.holds(b.tenant)
	ids := make([]string, 0, len(list))
	for _, d := range list {
		keep, err := held.has(ctx, d.subject)
		if err != nil {
			return nil, err
		}
		if !keep {
			ids = append(ids, d.id)
		}
	}
	return ids, nil
}

// end ends what waits for one cause. What somebody else has ended meanwhile is
// no error: then the others are ended one by one.
func (b *batch) end(ctx context.Context, cause events.Cause) error {
	ids, err := b.free(ctx, cause)
	if err != nil || len(ids) == 0 {
		return err
	}
	done, err := b.k.c.Eraser.ForgetDue(ctx, b.tenant, cause, ids)
	if err == nil {
		b.erased += done.Matched
		return nil
	}
	if !errors.Is(err, events.ErrNotFound) || len(ids) == 1 {
		return b.passed(err)
	}
	for _, id := range ids {
		done, err := b.k.c.Eraser.ForgetDue(ctx, b.tenant, cause, []string{id})
		if err == nil {
			b.erased += done.Matched
			continue
		}
		if err := b.passed(err); err != nil {
			return err
		}
	}
	return nil
}

// passed says what is no error: that something is not there any more.
func (b *batch) passed(err error) error {
	if errors.Is(err, events.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("erase: %w", err)
}
