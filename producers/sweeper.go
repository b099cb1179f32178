package producers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// SweeperConfig is what a sweeper is made of. All of it is required.
type SweeperConfig struct {
	Log        SweeperLog
	Keys       *seal.Keyring
	Quarantine Quarantine
	// Checkpoint is the sweeper's own, of no model.
	Checkpoint Checkpoint
	Now        func() time.Time
	// Logger gets an error that is being retried.
	Logger *slog.Logger
}

// SweeperLog is what a sweeper needs of the log.
type SweeperLog interface {
	events.Follower
	Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error)
	Last(ctx context.Context, a events.Aggregate) (events.Recorded, error)
}

// Sweeper follows the log and ends the wait of episodes in quarantine that nobody
// has decided on in time: it writes that they are dropped and destroys their keys.
// When their time is over is for the quarantine's own clock to say. It also
// completes what a reviewer has ended and was cut off.
//
// Any number of sweepers may run on one log. An error does not end it, nor does it
// keep the other episodes: it is logged, and the episode is tried again, for ever.
type Sweeper struct {
	c SweeperConfig
	// waiting are the episodes in quarantine, and those whose end is not complete.
	waiting map[events.Aggregate]waiting
	// changed says that the timer has to be set anew.
	changed bool
	stored  uint64
	seen    uint64
	// looked is what was seen when there was last a look at what can be stored.
	looked uint64
}

type waiting struct {
	// until is when it is to be looked at.
	until time.Time
	// position is where the log has to be read from again for it.
	position uint64
	// complete does what is left of an end that the log has; nil while there is none.
	complete func(ctx context.Context) error
	// pause was that before this try, zero after none that failed.
	pause time.Duration
}

// again is the same later, at a growing distance.
func (w waiting) again(now time.Time) waiting {
	w.pause = min(max(2*w.pause, firstRetry), lastRetry)
	w.until = now.Add(w.pause)
	return w
}

// NewSweeper returns a sweeper. It starts nothing; see [Sweeper.Run].
func NewSweeper(c SweeperConfig) (*Sweeper, error) {
	if c.Log == nil || c.Keys == nil || c.Quarantine == nil || c.Checkpoint == nil || c.Now == nil || c.Logger == nil {
		return nil, ErrConfig
	}
	return &Sweeper{c: c}, nil
}

// lateBy is how long after an episode's time the quarantine is first asked again
// whether it still has it: its clock is not this one, and it does not look all the
// time either.
const lateBy = time.Second

// Run follows the log until the context ends, whose error it then returns, or the
// log or the checkpoint can no longer be used.
func (s *Sweeper) Run(ctx context.Context) error {
	position, err := s.c.Checkpoint.Load()
	if err != nil {
		return fmt.Errorf("load checkpoint: %w", err)
	}
	state, err := s.c.Log.State(ctx)
	if err != nil {
		return fmt.Errorf("read state of the log: %w", err)
	}
	if position > state.Last { // the log has lost its end
		position = 0
	}
	s.waiting, s.stored, s.seen, s.looked = make(map[events.Aggregate]waiting), position, position, position
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type arrival struct {
		message events.Message
		err     error
	}
	arrivals := make(chan arrival)
	go func() {
		defer close(arrivals)
		for m, err := range s.c.Log.Follow(ctx, position) {
			select {
			case arrivals <- arrival{m, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case a, open := <-arrivals:
			switch {
			case !open:
				return fmt.Errorf("follow log: %w", ctx.Err())
			case a.err != nil:
				return fmt.Errorf("follow log: %w", a.err)
			}
			s.take(ctx, a.message)
		case <-timer.C:
			s.sweep(ctx)
		}
		// Most messages have nothing to do with what waits, which can be much.
		if s.changed {
			s.wake(timer)
			s.changed = false
		}
		if err := s.store(); err != nil {
			return err
		}
	}
}

// take learns from a message what waits, and completes what was ended.
func (s *Sweeper) take(ctx context.Context, m events.Message) {
	s.seen = m.Position
	a, err := events.ParseSubject(m.Subject)
	_, waited := s.waiting[a]
	if err != nil || !waited && !m.Header.Has(map[string]bool{
		events.TypeEpisodeQuarantined: true, events.TypeEpisodeDropped: true,
	}) {
		return // whoever folds the log says what is wrong with it
	}
	r, err := events.Decode(m)
	if err != nil {
		return
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.EpisodeQuarantined:
			s.waiting[r.Aggregate], s.changed = waiting{until: e.Until, position: r.Position}, true
		case events.EpisodeDropped:
			s.complete(ctx, r, func(ctx context.Context) error {
				return discard(ctx, s.c.Keys, s.c.Quarantine, r.Aggregate.Tenant, r.Aggregate.ID)
			})
		case events.EpisodeCaptured, events.EpisodeForgotten:
			s.complete(ctx, r, func(ctx context.Context) error {
				return s.c.Quarantine.Remove(ctx, r.Aggregate.Tenant, r.Aggregate.ID)
			})
		default:
		}
	}
}

// complete does what is left of the end that a commit is, now or, if it fails, later.
func (s *Sweeper) complete(ctx context.Context, r events.Recorded, do func(context.Context) error) {
	s.changed = true
	w, waited := s.waiting[r.Aggregate]
	if !waited {
		w.position = r.Position
	}
	if first := w.complete; first != nil { // the end before this one has not been completed
		then := do
		do = func(ctx context.Context) error { return errors.Join(first(ctx), then(ctx)) }
	}
	err := do(ctx)
	if err == nil {
		delete(s.waiting, r.Aggregate)
		return
	}
	w.complete, w.pause = do, 0
	s.waiting[r.Aggregate] = w.again(s.c.Now())
	s.note(ctx, 1, err)
}

// note logs what is tried again.
func (s *Sweeper) note(ctx context.Context, episodes int, last error) {
	if ctx.Err() == nil {
		s.c.Logger.LogAttrs(ctx, slog.LevelError, "quarantine cannot be swept",
			slog.Int("episodes", episodes), slog.String("error", last.Error()))
	}
}

// sweep ends the wait of those whose time is over, and completes what was left. What
// fails is left to a later round.
func (s *Sweeper) sweep(ctx context.Context) {
	now := s.c.Now()
	s.changed = true // the timer has run out
	failed, last := 0, error(nil)
	for a, w := range s.waiting {
		if w.until.After(now) {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		over, err := s.end(ctx, a, w)
		switch {
		case err != nil:
			failed, last = failed+1, err
			s.waiting[a] = w.again(s.c.Now())
		case over:
			delete(s.waiting, a)
		default:
			w.until, w.pause = now.Add(lateBy), 0
			s.waiting[a] = w
		}
	}
	if failed > 0 {
		s.note(ctx, failed, last)
	}
}

// end does what is left to do with one episode, and says whether that was all.
func (s *Sweeper) end(ctx context.Context, a events.Aggregate, w waiting) (over bool, err error) {
	if w.complete != nil {
		return true, w.complete(ctx)
	}
	return s.expire(ctx, a)
}

// expire ends the wait of an episode, unless it is still in quarantine.
func (s *Sweeper) expire(ctx context.Context, a events.Aggregate) (over bool, err error) {
	_, err = s.c.Quarantine.Get(ctx, a.Tenant, a.ID)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, events.ErrNoCommits) {
		return false, fmt.Errorf("read quarantine: %w", err)
	}
	last, err := s.c.Log.Last(ctx, a)
	if err != nil && !errors.Is(err, events.ErrNoCommits) {
		return false, fmt.Errorf("read episode: %w", err)
	}
	for _, e := range last.Events {
		e, waits := e.(events.EpisodeQuarantined)
		if !waits {
			continue
		}
		_, err := s.c.Log.Append(ctx, events.Commit{
			ID: token.Decision(a.ID), Aggregate: a, Time: events.Micro(s.c.Now()),
			Events: []events.Event{events.EpisodeDropped{Subject: e.Subject, Expired: true}},
		}, events.Expect(last.Position))
		if errors.Is(err, events.ErrConflict) {
			return true, nil // somebody has decided, which comes by here
		}
		if err != nil {
			return false, fmt.Errorf("drop episode: %w", err)
		}
		return true, discard(ctx, s.c.Keys, s.c.Quarantine, a.Tenant, a.ID)
	}
	return true, nil
}

// discard destroys the key of a dropped episode and removes its bytes.
func discard(ctx context.Context, keys *seal.Keyring, q Quarantine, tenant, id string) error {
	if err := keys.DestroyRecord(ctx, tenant, id); err != nil {
		return fmt.Errorf("destroy episode key: %w", err)
	}
	if err := q.Remove(ctx, tenant, id); err != nil {
		return fmt.Errorf("remove from quarantine: %w", err)
	}
	return nil
}

// wake sets the timer to when the next wait is over.
func (s *Sweeper) wake(timer *time.Timer) {
	timer.Stop()
	var next time.Time
	for _, w := range s.waiting {
		if next.IsZero() || w.until.Before(next) {
			next = w.until
		}
	}
	if !next.IsZero() {
		timer.Reset(max(next.Sub(s.c.Now()), 0))
	}
}

// store keeps how far the log is dealt with, not at every message.
func (s *Sweeper) store() error {
	if s.seen < s.looked+checkpointEvery {
		return nil
	}
	s.looked = s.seen
	done := s.seen
	for _, w := range s.waiting {
		done = min(done, w.position-1)
	}
	if done < s.stored+checkpointEvery {
		return nil
	}
	if err := s.c.Checkpoint.Store(done); err != nil {
		return fmt.Errorf("store checkpoint: %w", err)
	}
	s.stored = done
	return nil
}
