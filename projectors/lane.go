package projectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
)

// flushEvery bounds how long what was folded stays in memory only, flushMessages how many messages are read again after a
// kill.
const (
	flushEvery    = 10 * time.Second
	flushMessages = 500_000
)

func isNotExist(err error) bool { return errors.Is(err, os.ErrNotExist) }

// lane is one projection with its serving generation.
type lane struct {
	// spec is the projection as it is configured; the generation that serves may be folded by one with another recipe.
	spec  *spec
	cfg   *Config
	cache *pebble.Cache
	log   *slog.Logger
	dir   string

	// folding is held while a chunk is folded, and so while the serving generation is replaced.
	folding sync.Mutex
	engine  *engine // nil when it must be made from the store
	unsaved int     // messages folded since the last flush was asked for

	// operating is held by a replay or a verification, busy by it and by a purge.
	operating, busy sync.Mutex

	// mu guards what readers see.
	mu      sync.Mutex
	serving *generation
	retired []*generation // may still be open for readers
	highest uint64
	begins  *spec // by which a generation is begun in the place of one that cannot be used
	state   viewState
	caught  bool // the last message that was folded had none behind it
	moved   chan struct{}
	closed  bool
	// followed says that the log is being followed, and what there is to clear is cleared.
	followed bool
	// building is how far the next generation is, nil if none is built.
	building *Build

	// waits is what there is to wait for of a search index outside.
	waits *indexWait
	// opened says that the view was opened and has readers, so that an index that is lost is built beside what serves. folding
	// guards it.
	opened bool
}

// openLane finds the serving generation, or begins one if there is none that can be opened.
func openLane(cfg *Config, s *spec, cache *pebble.Cache) (*lane, error) {
	l := &lane{
		spec: s, begins: s, cfg: cfg, cache: cache, dir: cfg.FS.PathJoin(cfg.Dir, s.name),
		log: cfg.Logger.With(slog.String("projection", s.name)), moved: make(chan struct{}),
	}
	l.waits = &indexWait{log: l.log}
	if err := makeDir(cfg.FS, l.dir); err != nil {
		return nil, err
	}
	current, err := readCurrent(cfg.FS, l.dir)
	if err != nil {
		return nil, err
	}
	if l.highest, err = sweep(cfg.FS, l.dir, current); err != nil {
		return nil, err
	}
	if current != 0 {
		g, state, err := l.reopen(current)
		if err == nil {
			l.serving, l.state = g, state
			return l, nil
		}
		if !damaged(err) {
			return nil, err
		}
		l.log.Error("view is damaged and will be built anew")
	}
	return l, l.reset()
}

func (l *lane) reopen(num uint64) (*generation, viewState, error) {
	g, err := openGeneration(l.cfg.FS, l.cfg.FS.PathJoin(l.dir, genName(num)), num, l.cache, l.log, false)
	if err != nil {
		return nil, viewState{}, err
	}
	state, err := readState(g.db)
	if err != nil {
		return nil, viewState{}, errors.Join(err, g.release())
	}
	g.spec = l.specOf(state.format)
	g.index = l.indexOf(num, g.spec)
	return g, state, nil
}

// specOf is the projection by which a view of a format is folded on. One that cannot be is that of the views that are begun, whose
// format it does not have.
func (l *lane) specOf(format string) *spec {
	r, ok := parseRecipe(format)
	if l.spec.name != Memories || !ok || format == l.spec.format || !l.cfg.readable(r) {
		return l.spec
	}
	return memoriesSpec(l.cfg, r)
}

// generation makes the folder of a generation, and an empty store in it.
func (l *lane) generation(num uint64, s *spec) (*generation, error) {
	dir := l.cfg.FS.PathJoin(l.dir, genName(num))
	if err := makeDir(l.cfg.FS, dir); err != nil {
		return nil, err
	}
	g, err := openGeneration(l.cfg.FS, dir, num, l.cache, l.log, true)
	if err != nil {
		return nil, err
	}
	g.spec, g.index = s, l.indexOf(num, s)
	return g, nil
}

// current is the projection by which the serving generation is folded.
func (l *lane) current() *spec {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serving.spec
}

// reset puts an empty generation in the place of the serving one.
func (l *lane) reset() error {
	l.mu.Lock()
	l.highest++
	num, s := l.highest, l.begins
	l.mu.Unlock()
	g, err := l.generation(num, s)
	if err != nil {
		return err
	}
	return l.swap(g, viewState{})
}

// swap makes a generation the serving one. Readers of the old one finish on it; then it is removed.
func (l *lane) swap(g *generation, state viewState) error {
	if err := writeCurrent(l.cfg.FS, l.dir, g.num); err != nil {
		return errors.Join(err, g.retire())
	}
	l.mu.Lock()
	old := l.serving
	l.serving, l.caught = g, false
	if old != nil {
		l.retired = append(slices.DeleteFunc(l.retired, isClosed), old)
	}
	l.announce(state)
	l.mu.Unlock()
	if old == nil {
		return nil
	}
	if err := old.retire(); err != nil {
		// The new one serves already; what is left of the old one is swept at the next opening.
		l.log.Error("old generation cannot be removed", slog.Uint64("generation", old.num))
	}
	return nil
}

// announce wakes those who wait for a position. mu is held.
func (l *lane) announce(state viewState) {
	l.state = state
	close(l.moved)
	l.moved = make(chan struct{})
}

func (l *lane) publish(state viewState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.announce(state)
}

func (l *lane) position() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.position
}

func (l *lane) wait(ctx context.Context, position uint64) error {
	for {
		l.mu.Lock()
		at, moved := l.state.position, l.moved
		l.mu.Unlock()
		if at >= position {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", l.spec.name, events.ErrBehind, ctx.Err())
		}
	}
}

// acquire returns the serving generation with a reference for the caller.
func (l *lane) acquire() (lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return lease{}, ErrClosed
	}
	held, ok := l.serving.acquire()
	if !ok {
		return lease{}, ErrClosed
	}
	return held, nil
}

// ensure makes the engine ready, after checking that the view was built from this log by this projection. folding is held.
func (l *lane) ensure(ctx context.Context) error {
	if l.engine != nil {
		return nil
	}
	l.mu.Lock()
	g, closed := l.serving, l.closed
	l.mu.Unlock()
	if closed {
		return ErrClosed
	}
	log, err := l.cfg.Log.State(ctx)
	if err != nil {
		return fmt.Errorf("ask log: %w", err)
	}
	state, err := readState(g.db)
	if err != nil && !damaged(err) {
		return err
	}
	reason := "view is damaged"
	if err == nil {
		if reason, err = l.mismatch(ctx, g.spec, &state, &log); err != nil {
			return err
		}
		if reason == "" && state.format != "" {
			whole, err := g.index.whole(ctx, state.indexed)
			if err != nil {
				return err
			}
			if !whole && l.opened {
				return errIndexLost
			}
			if !whole {
				reason = "search index is not what it was"
			}
		}
	}
	if reason != "" {
		l.log.ErrorContext(ctx, "view is discarded and built anew", slog.String("reason", reason),
			slog.Uint64("position", state.position), slog.Uint64("head", log.Last))
		if err := l.reset(); err != nil {
			return err
		}
		g = l.serving
	}
	e, err := newEngine(g, l.publish)
	if err != nil && reason == "" && damaged(err) {
		l.log.ErrorContext(ctx, "view is discarded and built anew", slog.String("reason", "view is damaged"))
		if err := l.reset(); err != nil {
			return err
		}
		e, err = newEngine(l.serving, l.publish)
	}
	if err != nil {
		return err
	}
	if e.state.format == "" {
		if err := e.index.begin(ctx, log.Identity); err != nil {
			return err
		}
		if err := e.begin(ctx, log.Identity); err != nil {
			return err
		}
	}
	if err := e.index.serve(ctx); err != nil {
		return err
	}
	l.publish(e.state)
	l.engine, l.opened = e, true
	return nil
}

// mismatch says why a view cannot be used with the log, "" if it can.
func (l *lane) mismatch(ctx context.Context, spec *spec, s *viewState, log *events.State) (string, error) {
	switch {
	case s.format == "": // never used
		return "", nil
	case s.format != spec.format:
		return "another format", nil
	case s.identity != log.Identity:
		return "another log", nil
	case s.position > log.Last:
		return "log ends before the view", nil
	case s.position == 0:
		return "", nil
	}
	m, err := l.cfg.Log.MessageAt(ctx, s.position)
	switch {
	case errors.Is(err, events.ErrNoCommits): // removed since
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read message: %w", err)
	case m.Header.ID != s.commit:
		return "another commit at the position", nil
	}
	return "", nil
}

// run follows the log until the context ends or something fails. A search index outside that is lost is no failure.
func (l *lane) run(ctx context.Context) error {
	err := l.follow(ctx)
	for errors.Is(err, errIndexLost) && ctx.Err() == nil {
		if err = l.restore(ctx); err == nil {
			err = l.follow(ctx)
		}
	}
	return err
}

func (l *lane) follow(ctx context.Context) error {
	from, err := l.start(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.follows(true)
	defer l.follows(false)
	chunks, done := make(chan chunk, chunksAhead), make(chan error, 1)
	go func() {
		defer close(chunks)
		done <- read(ctx, l.cfg, l.current, from, 0, chunks)
	}()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	err = l.foldAll(ctx, chunks, tick.C)
	cancel()
	for range chunks { // What was read ahead is dropped; the reader ends.
	}
	if readErr := <-done; err == nil {
		err = readErr
	}
	return err
}

// follows tells those who wait for what is to be cleared whether they have to do it themselves.
func (l *lane) follows(is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followed = is
	l.announce(l.state)
}

func (l *lane) start(ctx context.Context) (uint64, error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	if err := l.ensure(ctx); err != nil {
		return 0, err
	}
	return l.engine.state.position, nil
}

// foldAll folds the chunks, and clears between them: while there is much to fold, about as long as it folds; while there is not,
// about half of the time, so that whoever wrote the tombstone gets on as well.
func (l *lane) foldAll(ctx context.Context, chunks <-chan chunk, tick <-chan time.Time) error {
	// owed is how long is to be folded, or waited, before another page is cleared.
	var owed time.Duration
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		began := time.Now() //nolint:forbidigo // What is shared by it is the processor; nothing that is folded depends on it.
		select {
		case c, ok := <-chunks:
			if !ok {
				return nil
			}
			if err := l.fold(ctx, &c); err != nil {
				return err
			}
		case <-tick:
			if err := l.save(1); err != nil {
				return err
			}
		case <-timer.C:
		}
		if owed -= time.Since(began); owed > 0 { //nolint:forbidigo // What is shared by it is the processor; nothing that is folded depends on it.
			timer.Reset(owed)
			continue
		}
		began = time.Now() //nolint:forbidigo // What is shared by it is the processor; nothing that is folded depends on it.
		left, err := l.clearSome(ctx)
		if err != nil {
			return err
		}
		if owed = 0; left {
			owed = time.Since(began) //nolint:forbidigo // What is shared by it is the processor; nothing that is folded depends on it.
			timer.Reset(owed)
		}
	}
}

func (l *lane) fold(ctx context.Context, c *chunk) error {
	l.folding.Lock()
	defer l.folding.Unlock()
	if l.engine == nil { // a retry failed
		at := l.position()
		if err := l.ensure(ctx); err != nil {
			return err
		}
		if l.engine.state.position != at { // it was begun anew, and the chunk does not follow
			return fmt.Errorf("fold: %w", ErrCorrupt)
		}
	}
	before := l.engine.state.parked
	if err := l.engine.apply(ctx, c); err != nil {
		// What the engine holds in memory may be ahead of the store.
		l.engine = nil
		return err
	}
	l.unsaved += c.messages
	l.report(c, before)
	if l.unsaved >= flushMessages {
		return l.saveLocked(flushMessages)
	}
	return nil
}

// report notes whether the view has caught up, and tells the operator what must be looked at.
func (l *lane) report(c *chunk, parkedBefore uint64) {
	state := l.engine.state
	l.mu.Lock()
	first := !l.caught
	l.caught = c.pending == 0
	l.mu.Unlock()
	if state.parked > parkedBefore {
		l.log.Error("commits are parked", slog.Uint64("parked", state.parked), slog.Uint64("position", state.position))
	}
	if c.pending == 0 && first && state.unopened > 0 {
		l.log.Error("records cannot be opened and have no tombstone", slog.Uint64("unopened", state.unopened))
	}
}

// save asks for what is in memory to be written out if it is at least so many messages.
func (l *lane) save(atLeast int) error {
	l.folding.Lock()
	defer l.folding.Unlock()
	return l.saveLocked(atLeast)
}

func (l *lane) saveLocked(atLeast int) error {
	if l.engine == nil || l.unsaved < atLeast {
		return nil
	}
	l.unsaved = 0
	if _, err := l.engine.db.AsyncFlush(); err != nil {
		return fmt.Errorf("flush view: %w", err)
	}
	return nil
}

// retry folds parked commits again.
func (l *lane) retry(ctx context.Context) (RetryResult, error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	if err := l.ensure(ctx); err != nil {
		return RetryResult{}, err
	}
	res, err := l.engine.retry(ctx, l.cfg.Log)
	if err != nil {
		l.engine = nil
		return res, err
	}
	l.unsaved++
	if err := l.engine.commit(ctx); err != nil {
		l.engine = nil
		return res, err
	}
	return res, nil
}

// close waits for a replay or a verification.
func (l *lane) close() error {
	l.busy.Lock()
	defer l.busy.Unlock()
	l.folding.Lock()
	defer l.folding.Unlock()
	l.engine = nil
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	g := l.serving
	l.mu.Unlock()
	return errors.Join(g.flush(), g.release())
}

func (l *lane) status(head uint64, asked bool) Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.state
	st := Status{
		Projection: l.spec.name, Node: l.cfg.Node, Generation: l.serving.num, Position: s.position, Head: head,
		Digest: s.digest.String(), Records: s.records, Parked: s.parked, Unopened: s.unopened, At: l.cfg.Now(),
	}
	if r := l.serving.spec.recipe; r != (Recipe{}) {
		st.Recipe = &r
	}
	if l.building != nil {
		b := *l.building
		st.Building = &b
	}
	if head > s.position {
		st.Lag = head - s.position
	}
	if _, trouble := l.waits.state(); trouble != "" {
		st.Waiting = "search index: " + trouble
	}
	st.Healthy = asked && st.Waiting == "" && s.parked == 0 && !l.serving.failed.Load() && (s.unopened == 0 || !l.caught || st.Lag != 0)
	return st
}
