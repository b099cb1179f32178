package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/cmd/annals/internal/httpapi"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/query"
)

// The phases of a change.
const (
	phaseWaiting   = "waiting"
	phaseEmbedding = "embedding"
	phaseBuilding  = "building"
	phaseFailed    = "failed"
)

// switchPoll is how often those who wait for an embedder look, for it may be another one by then.
const switchPoll = 2 * time.Millisecond

// busyRetry is how soon a build is tried again that another operation kept out.
const busyRetry = time.Second

// embeddings run the embedder of the model by which memories are searched. If another model
// is chosen, its embedder appends vectors of all that is in the log beside, then the next
// generation of the memories is built, and takes over in one step. Nothing of it is lost
// by a crash: the choice is in a file, the embedder has its checkpoint, the views their
// generation. The vectors of the model before stay in the log, sealed under the keys of
// their records, so that the way back needs but those of what came since.
type embeddings struct {
	data   string
	log    string // its identity
	views  *projectors.Views
	models *models
	logger *slog.Logger
	// keep says that nothing is changed: whoever has the directory open will not have it
	// for long.
	keep bool
	// make makes the embedder of a model.
	make func(embed.Embedder, producers.Checkpoint, int) (*producers.Embedder, error)

	mu      sync.Mutex // guards what follows
	choice  choice
	workers map[string]*worker // by the key of the model
	failed  string             // the key to which no generation could be built
	phase   string
	from    *worker // whose progress is that of the phase
	target  uint64
	moved   chan struct{} // closed when something changes
}

// worker is the embedder of one model.
type worker struct {
	*producers.Embedder

	runs bool
	stop context.CancelFunc // does nothing before it runs
}

// changeBatch is how many texts the embedder of a model that does not serve yet hands to it at
// once: few, so that what is captured meanwhile soon finds a processor.
const changeBatch = 8

// openEmbeddings is called when the views are open.
func openEmbeddings(o Options, m *models, asked, log string, v *projectors.Views, keys *seal.Keyring, l events.Log) (*embeddings, error) {
	e := &embeddings{
		data: o.Data, log: log, views: v, models: m, logger: o.Logger, keep: o.KeepModel,
		workers: make(map[string]*worker), phase: phaseWaiting, moved: make(chan struct{}),
		make: func(model embed.Embedder, done producers.Checkpoint, batch int) (*producers.Embedder, error) {
			return producers.NewEmbedder(producers.EmbedderConfig{
				Follower: l, Appender: l, Keys: keys, Model: model, Checkpoint: done, Now: time.Now, Logger: o.Logger, Batch: batch,
			})
		},
	}
	var err error
	if e.choice, err = readChoice(o.Data); err != nil {
		return nil, err
	}
	model, err := m.open(asked)
	if err != nil {
		return nil, err
	}
	key := model.ID().Key()
	switch serving := v.Recipe().Model; {
	case o.KeepModel:
		if e.choice.Chosen == "" {
			e.choice.Chosen = serving
		}
		return e, e.prepare()
	case e.choice.Configured != key:
		e.choice.Configured, e.choice.Chosen = key, key
		if serving != key {
			e.choice.Previous = serving
		}
	}
	if model, _ := m.find(e.choice.Chosen); model == nil {
		e.logger.Warn("the model that was chosen is not here; the configured one takes its place")
		e.choice.Chosen = key
	}
	if err := e.choice.write(o.Data); err != nil {
		return nil, err
	}
	return e, e.prepare()
}

// wanted is the recipe that is to serve.
func (e *embeddings) wanted() projectors.Recipe {
	r := e.views.Wanted()
	e.mu.Lock()
	defer e.mu.Unlock()
	r.Model = e.choice.Chosen
	if e.keep {
		return e.views.Recipe()
	}
	return r
}

// Run embeds, and changes to the model that is chosen, until the context ends or the log cannot
// be used.
func (e *embeddings) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for ctx.Err() == nil {
			moved := e.changed()
			if err := e.prepare(); err != nil {
				return err
			}
			e.launch(ctx, g)
			again, err := e.change(ctx, moved)
			if err != nil {
				return err
			}
			if again {
				continue
			}
			select {
			case <-ctx.Done():
			case <-moved:
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return fmt.Errorf("embed: %w", err)
	}
	return nil
}

// prepare makes the embedders that are needed by now, and stops those that are not.
func (e *embeddings) prepare() error {
	serving, wanted := e.views.Recipe().Model, e.wanted().Model
	e.mu.Lock()
	defer e.mu.Unlock()
	for key, w := range e.workers {
		if key != serving && key != wanted {
			w.stop()
			delete(e.workers, key)
		}
	}
	for _, key := range []string{serving, wanted} {
		if e.workers[key] != nil {
			continue
		}
		model, _ := e.models.find(key)
		if model == nil {
			continue // its memories are found by words, and new ones have no vector before the switch
		}
		batch := 0
		if key != serving {
			batch = changeBatch
		}
		made, err := e.make(model, producers.FileCheckpoint(filepath.Join(e.data, embedDir), e.log, key), batch)
		if err != nil {
			return fmt.Errorf("embedder: %w", err)
		}
		e.workers[key] = &worker{Embedder: made, stop: func() {}}
	}
	return nil
}

// launch starts the embedders that do not run.
func (e *embeddings) launch(ctx context.Context, g *errgroup.Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.workers {
		if w.runs {
			continue
		}
		own, stop := context.WithCancel(ctx)
		w.runs, w.stop = true, stop
		g.Go(func() error {
			defer stop()
			if err := w.Run(own); err != nil && own.Err() == nil {
				return fmt.Errorf("embedder: %w", err)
			}
			return nil
		})
	}
}

// change makes what is wanted serve, and tells whether there is more to be done at once. It gives up when something else is
// chosen, which closes moved.
func (e *embeddings) change(ctx context.Context, moved <-chan struct{}) (again bool, err error) {
	want, serving := e.wanted(), e.views.Recipe()
	e.mu.Lock()
	w, failed := e.workers[want.Model], e.failed == want.Model
	e.mu.Unlock()
	if want == serving || failed || w == nil {
		return false, nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-moved:
			stop()
		case <-ctx.Done():
		}
	}()
	e.logger.LogAttrs(ctx, slog.LevelInfo, "the model of the memories is changed", slog.String("from", serving.Model), slog.String("to", want.Model))
	defer e.enter(phaseWaiting, nil, 0)
	defer func() {
		if ctx.Err() != nil { // something else is chosen, or it is the end
			again, err = true, nil
		}
	}()
	if want.Model != serving.Model {
		state, err := e.views.Head(ctx)
		if err != nil {
			return false, fmt.Errorf("change the model: %w", err)
		}
		e.enter(phaseEmbedding, w, state)
		if err := w.WaitFor(ctx, state); err != nil {
			return true, fmt.Errorf("change the model: %w", err)
		}
		// The vectors stand behind what was embedded, and a generation is built as far as the one that serves has come.
		if state, err = e.views.Head(ctx); err != nil {
			return false, fmt.Errorf("change the model: %w", err)
		}
		if err := e.views.WaitFor(ctx, state); err != nil {
			return true, fmt.Errorf("change the model: %w", err)
		}
	}
	return e.build(ctx, want)
}

// build builds the next generation until it serves.
func (e *embeddings) build(ctx context.Context, want projectors.Recipe) (again bool, err error) {
	e.enter(phaseBuilding, nil, 0)
	tick := time.NewTicker(busyRetry)
	defer tick.Stop()
	for {
		res, err := e.views.Build(ctx, want, nil)
		switch {
		case err == nil:
			e.logger.LogAttrs(ctx, slog.LevelInfo, "the memories are searched by another model", slog.String("model", want.Model),
				slog.Uint64("generation", res.Generation), slog.Uint64("position", res.Position))
			return true, nil
		case errors.Is(err, projectors.ErrDigest):
			e.mu.Lock()
			e.failed = want.Model
			e.mu.Unlock()
			return false, nil
		case !errors.Is(err, projectors.ErrBusy):
			return true, fmt.Errorf("change the model: %w", err)
		}
		select {
		case <-ctx.Done():
			return true, nil
		case <-tick.C:
		}
	}
}

func (e *embeddings) enter(phase string, w *worker, target uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.phase, e.from, e.target = phase, w, target
}

func (e *embeddings) changed() chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.moved
}

// WaitFor returns when the model that serves, or the one that is to where that is not here, has dealt with everything up to the
// position.
func (e *embeddings) WaitFor(ctx context.Context, position uint64) error {
	tick := time.NewTicker(switchPoll)
	defer tick.Stop()
	for {
		serving, wanted := e.views.Recipe().Model, e.wanted().Model
		e.mu.Lock()
		w := e.workers[serving]
		if w == nil {
			w = e.workers[wanted]
		}
		e.mu.Unlock()
		if w == nil || w.Position() >= position {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the embedder: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// encoder is the one of a model that serves.
func (e *embeddings) encoder(key string) (query.Encoder, bool) {
	model, _ := e.models.find(key)
	if model == nil {
		return nil, false
	}
	return encoder{model}, true
}

// name is how a model is called by those who choose.
func (e *embeddings) name(key string) string {
	if _, name := e.models.find(key); name != "" {
		return name
	}
	return key
}

// Embedding implements [httpapi.Embeddings].
func (e *embeddings) Embedding() httpapi.Embedding {
	serving, want := e.views.Recipe(), e.wanted()
	e.mu.Lock()
	previous, change := e.choice.Previous, httpapi.EmbeddingChange{Phase: e.phase, Target: e.target}
	if e.from != nil {
		change.Position = min(e.from.Position(), e.target)
	}
	if e.failed == want.Model {
		change.Phase = phaseFailed
	}
	e.mu.Unlock()
	out := httpapi.Embedding{Serving: e.name(serving.Model), Chosen: e.name(want.Model), Models: e.models.names()}
	_, out.Questions = e.encoder(serving.Model)
	if previous != "" {
		out.Previous = e.name(previous)
	}
	if want != serving {
		if b := e.views.Building(); change.Phase == phaseBuilding && b != nil {
			change.Position, change.Target = b.Position, b.Target
		}
		out.Change = &change
	}
	return out
}

// Choose implements [httpapi.Embeddings].
func (e *embeddings) Choose(c httpapi.EmbeddingChoice) error {
	if (c.Model == "") != c.Rollback {
		return &events.InputError{Code: "missing", Field: "model", Rule: "either a model or a rollback"}
	}
	e.mu.Lock()
	key := e.choice.Previous
	e.mu.Unlock()
	if c.Rollback {
		if model, _ := e.models.find(key); model == nil {
			return &events.InputError{Kind: events.Refused, Code: "no_previous", Field: "rollback", Rule: "needs a model that served before and that this server has"}
		}
	} else {
		model, err := e.models.open(c.Model)
		if err != nil {
			return err
		}
		key = model.ID().Key()
	}
	serving := e.views.Recipe().Model
	e.mu.Lock()
	defer e.mu.Unlock()
	if key == e.choice.Chosen && e.failed == "" {
		return nil
	}
	next := e.choice
	next.Chosen = key
	if serving != key {
		next.Previous = serving
	}
	if err := next.write(e.data); err != nil {
		return err
	}
	e.choice, e.failed = next, ""
	close(e.moved)
	e.moved = make(chan struct{})
	return nil
}

// Changing implements [httpapi.Embeddings].
func (e *embeddings) Changing() string {
	c := e.Embedding().Change
	if c == nil {
		return ""
	}
	return fmt.Sprintf("model of the memories: %s %d of %d", c.Phase, c.Position, c.Target)
}
