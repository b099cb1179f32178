package projectors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// closeEnough is how far behind the serving generation a new one may be when the serving one is held for the handover.
const closeEnough = 256

// maxRounds bounds how often a new generation runs after the serving one before it is held: under steady writes each round
// leaves less to fold while the view is held, but there may be no end to them.
const maxRounds = 8

// buildChunks is how many chunks of the log a generation that serves nobody takes into one batch: the blocks of the search index
// that many of its documents share, those of frequent terms above all, are rewritten for each batch.
const buildChunks = 8

// builder folds the log from its beginning into a generation that serves nobody yet.
type builder struct {
	l        *lane
	g        *generation
	e        *engine
	events   uint64
	target   uint64
	progress func(Progress)
}

func (l *lane) builder(ctx context.Context, g *generation, identity string, progress func(Progress)) (*builder, error) {
	e, err := newEngine(g, nil)
	if err != nil {
		return nil, err
	}
	if err := e.index.begin(ctx, identity); err != nil {
		return nil, err
	}
	if err := e.begin(ctx, identity); err != nil {
		return nil, err
	}
	e.gather = buildChunks
	if progress == nil {
		progress = func(Progress) {}
	}
	return &builder{l: l, g: g, e: e, progress: progress}, nil
}

// catchUp folds all messages up to a position and stands at it then.
func (b *builder) catchUp(ctx context.Context, to mark) error {
	b.target = to.position
	if to.position > b.e.state.position {
		if err := b.follow(ctx, to.position); err != nil {
			return err
		}
	}
	// What was at the position may have been removed since.
	b.e.state.position, b.e.state.commit = to.position, to.commit
	if err := b.e.commit(ctx); err != nil {
		return err
	}
	for left := true; left; {
		var err error
		if left, err = b.e.clearSome(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) follow(ctx context.Context, to uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chunks, done := make(chan chunk, chunksAhead), make(chan error, 1)
	go func() {
		defer close(chunks)
		done <- read(ctx, b.l.cfg, b.e.spec.itself, b.e.state.position, to, chunks)
	}()
	var err error
	for c := range chunks {
		if err != nil {
			continue // the reader is ending
		}
		if err = b.e.apply(ctx, &c); err != nil {
			cancel()
			continue
		}
		b.events += uint64(c.messages) //nolint:gosec // a count.
		b.l.note(&Build{Generation: b.g.num, Position: b.e.state.position, Target: b.target}, b.e.spec)
		b.progress(Progress{
			Projection: b.l.spec.name, Position: b.e.state.position, Target: b.target, Events: b.events,
		})
	}
	readErr := <-done
	if err == nil {
		err = readErr
	}
	return err
}

// stand is where the serving generation is.
func (l *lane) stand() (mark, viewState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return mark{position: l.state.position, commit: l.state.commit}, l.state
}

// operate begins a replay or a verification, of which there is one at a time. It
// waits for a purge, which nobody has asked for and which is over soon.
func (l *lane) operate() (done func(), ok bool) {
	if !l.operating.TryLock() {
		return nil, false
	}
	l.busy.Lock()
	return func() {
		l.busy.Unlock()
		l.operating.Unlock()
	}, true
}

// note tells those who ask for the status how far the next generation is. A scratch is none.
func (l *lane) note(b *Build, s *spec) {
	if b != nil && b.Generation == 0 {
		return
	}
	if b != nil && s.recipe != (Recipe{}) {
		b.Recipe = &s.recipe
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.building = b
}

// replay builds the next generation by a projection, nil for the one by which the serving one is folded.
func (l *lane) replay(ctx context.Context, s *spec, progress func(Progress)) (res ReplayResult, err error) {
	done, ok := l.operate()
	if !ok {
		return ReplayResult{}, fmt.Errorf("replay: %w", ErrBusy)
	}
	defer done()
	if _, err := l.start(ctx); err != nil {
		return ReplayResult{}, err
	}
	return l.build(ctx, s, progress)
}

// restore builds the next generation in place of the serving one, whose search index outside is lost. Its rows serve meanwhile.
func (l *lane) restore(ctx context.Context) error {
	l.log.ErrorContext(ctx, "search index is lost and built anew")
	l.waits.setLost(true)
	defer l.waits.setLost(false)
	for {
		if done, ok := l.operate(); ok {
			defer done()
			_, err := l.build(ctx, nil, nil)
			return err
		}
		// A replay or a verification is under way, which ends.
		select {
		case <-time.After(indexPause):
		case <-ctx.Done():
			return fmt.Errorf("build search index: %w", ctx.Err())
		}
	}
}

// build folds the log into the next generation and hands over to it.
func (l *lane) build(ctx context.Context, s *spec, progress func(Progress)) (res ReplayResult, err error) {
	started := l.cfg.Now()
	_, state := l.stand()
	l.mu.Lock()
	l.highest++
	num := l.highest
	if s == nil {
		s = l.serving.spec
	}
	l.mu.Unlock()
	g, err := l.generation(num, s)
	if err != nil {
		return ReplayResult{}, err
	}
	defer l.note(nil, nil)
	b, err := l.builder(ctx, g, state.identity, progress)
	if err == nil {
		err = b.approach(ctx)
	}
	if err != nil {
		return ReplayResult{}, errors.Join(err, g.retire())
	}
	res, err = l.handOver(ctx, b)
	res.Elapsed = l.cfg.Now().Sub(started)
	return res, err
}

// approach folds until the serving generation is near, or was not in so many rounds.
func (b *builder) approach(ctx context.Context) error {
	for range maxRounds {
		to, _ := b.l.stand()
		if to.position <= b.e.state.position+closeEnough {
			break
		}
		if err := b.catchUp(ctx, to); err != nil {
			return err
		}
	}
	if _, err := b.e.db.AsyncFlush(); err != nil {
		return fmt.Errorf("flush generation: %w", err)
	}
	return nil
}

// handOver holds the serving generation, brings the new one to the same position, compares, and switches.
func (l *lane) handOver(ctx context.Context, b *builder) (ReplayResult, error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	to, old := l.stand()
	if old.identity != b.e.state.identity {
		return ReplayResult{}, errors.Join(fmt.Errorf("replay: %w", ErrBusy), b.g.retire())
	}
	if err := b.catchUp(ctx, to); err != nil {
		return ReplayResult{}, errors.Join(err, b.g.retire())
	}
	res := ReplayResult{
		Projection: l.spec.name, Generation: b.g.num, Old: old.digest.String(), New: b.e.state.digest.String(),
		Position: to.position, Events: b.events,
	}
	if old.digest != b.e.state.digest || old.records != b.e.state.records {
		l.log.ErrorContext(ctx, "rebuilt view differs from the serving one, which stays", slog.Uint64("position", to.position))
		return res, errors.Join(fmt.Errorf("replay: %w", ErrDigest), b.g.retire())
	}
	if err := b.g.db.Flush(); err != nil {
		return res, errors.Join(fmt.Errorf("flush generation: %w", err), b.g.retire())
	}
	b.e.publish, b.e.gather = l.publish, 1
	if err := l.swap(b.g, b.e.state); err != nil {
		return res, err
	}
	l.engine, l.unsaved = b.e, 0
	if err := b.e.index.serve(ctx); err != nil {
		l.log.ErrorContext(ctx, "alias of the search index is not switched")
	}
	l.mu.Lock()
	l.caught, l.begins = true, b.g.spec
	l.mu.Unlock()
	return res, nil
}

func (l *lane) verify(ctx context.Context, progress func(Progress)) (res VerifyResult, err error) {
	done, ok := l.operate()
	if !ok {
		return VerifyResult{}, fmt.Errorf("verify: %w", ErrBusy)
	}
	defer done()
	started := l.cfg.Now()
	if _, err := l.start(ctx); err != nil {
		return VerifyResult{}, err
	}
	held, snap, err := l.cleared(ctx)
	if err != nil {
		return VerifyResult{}, err
	}
	defer func() { err = errors.Join(err, snap.Close(), held.release()) }()
	state, err := readState(snap)
	if err != nil {
		return VerifyResult{}, err
	}
	// Every block, of rows that no digest covers too: the store checks its sums as it reads.
	if err := scan(snap, nil, nil, func(_, _ []byte) (bool, error) { return true, ctx.Err() }); err != nil {
		return VerifyResult{}, fmt.Errorf("read the whole view: %w", err)
	}
	b, err := l.scratch(ctx, state.identity, progress)
	if err != nil {
		return VerifyResult{}, err
	}
	defer func() { err = errors.Join(err, b.g.retire()) }()
	if err := b.catchUp(ctx, mark{position: state.position, commit: state.commit}); err != nil {
		return VerifyResult{}, err
	}
	return l.compare(snap, &state, b, started)
}

// cleared returns a snapshot in which nothing is left to clear, and the lease that it needs.
func (l *lane) cleared(ctx context.Context) (held lease, snap *pebble.Snapshot, err error) {
	// Most of it goes between the commits that are folded.
	if err := l.clear(ctx); err != nil {
		return lease{}, nil, err
	}
	l.folding.Lock()
	defer l.folding.Unlock()
	if err := l.ensure(ctx); err != nil {
		return lease{}, nil, err
	}
	for left := true; left; {
		if left, err = l.clearLocked(ctx); err != nil {
			return lease{}, nil, err
		}
	}
	if held, err = l.acquire(); err != nil {
		return lease{}, nil, err
	}
	return held, held.db.NewSnapshot(), nil
}

func (l *lane) scratch(ctx context.Context, identity string, progress func(Progress)) (*builder, error) {
	dir := l.cfg.FS.PathJoin(l.dir, scratchDir)
	if err := l.cfg.FS.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove scratch: %w", err)
	}
	if err := makeDir(l.cfg.FS, dir); err != nil {
		return nil, err
	}
	g, err := openGeneration(l.cfg.FS, dir, 0, l.cache, l.log, true)
	if err != nil {
		return nil, err
	}
	g.spec = l.current()
	g.index = l.indexOf(0, g.spec)
	b, err := l.builder(ctx, g, identity, progress)
	if err != nil {
		return nil, errors.Join(err, g.retire())
	}
	return b, nil
}

func (l *lane) compare(snap pebble.Reader, state *viewState, b *builder, started time.Time) (VerifyResult, error) {
	stored, records, differing, err := compareRecords(snap, b.g.db)
	if err != nil {
		return VerifyResult{}, err
	}
	res := VerifyResult{
		Projection: l.spec.name, Position: state.position,
		Kept: state.digest.String(), Stored: stored.String(), Fresh: b.e.state.digest.String(),
		Records: records, Events: b.events, Differing: differing, Elapsed: l.cfg.Now().Sub(started),
	}
	res.OK = differing == 0 && state.digest == stored && stored == b.e.state.digest && records == state.records
	if !res.OK {
		l.log.Error("view differs from a fresh fold", slog.Int("differing", differing),
			slog.Uint64("position", state.position))
	}
	return res, nil
}

// compareRecords sums the records of one store and counts those that another has otherwise.
func compareRecords(a, b pebble.Reader) (sum digest, records uint64, differing int, err error) {
	left, err := newRecords(a)
	if err != nil {
		return digest{}, 0, 0, err
	}
	defer closeInto(left.it, &err)
	right, err := newRecords(b)
	if err != nil {
		return digest{}, 0, 0, err
	}
	defer closeInto(right.it, &err)
	for left.ok || right.ok {
		order := left.compare(right)
		if order <= 0 {
			sum.add(rowDigest(left.it.Key(), left.it.Value()))
			records++
		}
		if order != 0 || string(left.it.Value()) != string(right.it.Value()) {
			differing++
		}
		if order <= 0 {
			left.next()
		}
		if order >= 0 {
			right.next()
		}
	}
	return sum, records, differing, errors.Join(left.it.Error(), right.it.Error())
}

// recordIter walks the records of a store in the order of their keys.
type recordIter struct {
	it *pebble.Iterator
	ok bool
}

func newRecords(r pebble.Reader) (*recordIter, error) {
	it, err := r.NewIter(nil)
	if err != nil {
		return nil, fmt.Errorf("scan records: %w", err)
	}
	w := &recordIter{it: it, ok: it.First()}
	w.skip()
	return w, nil
}

func (w *recordIter) next() {
	w.ok = w.it.Next()
	w.skip()
}

// skip passes the sorts that are not records, a sort at a time.
func (w *recordIter) skip() {
	for w.ok && !isRecord(w.it.Key()[0]) {
		w.ok = w.it.SeekGE([]byte{w.it.Key()[0] + 1})
	}
}

func (w *recordIter) compare(o *recordIter) int {
	switch {
	case !w.ok:
		return 1
	case !o.ok:
		return -1
	}
	return pebble.DefaultComparer.Compare(w.it.Key(), o.it.Key())
}
