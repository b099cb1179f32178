package producers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/producers/embed"
)

// Bounds of the embedder.
const (
	maxEmbedBatch = 64
	// checkpointEvery bounds how many messages without anything to embed are
	// read again after a restart.
	checkpointEvery = 1_000
	// firstRetry and lastRetry bound the pause after an error.
	firstRetry = 250 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// EmbedderConfig is what an embedder is made of. All but Batch and FirstRetry is
// required.
type EmbedderConfig struct {
	Follower   events.Follower
	Appender   events.Appender
	Keys       *seal.Keyring
	Model      embed.Embedder
	Checkpoint Checkpoint
	// Now is the clock of the commits.
	Now func() time.Time
	// Logger gets an error that is being retried, and what cannot be opened:
	// positions and causes, no text.
	Logger *slog.Logger
	// Batch is how many texts the model gets at once, at most; zero is 64.
	Batch int
	// FirstRetry is the pause after a first error, which then grows up to 30
	// seconds; zero is 250 milliseconds.
	FirstRetry time.Duration
}

// Embedder follows the log and appends the vector of every episode, and of
// every candidate that can come to be shown, so that a replay calls no model.
//
// A candidate waits for the decision on it, for as long as 1,000 positions. The
// vector of one whose command was cut off in between is made then, for it may
// still come to be shown.
//
// It never skips a record because the model or the log fails: it retries for
// ever. It skips what can never be embedded: records whose keys are destroyed,
// messages that do not decode or open, texts about which the model has nothing
// to say, and a text that the model refuses for good while it takes another. A record may get its vector twice, after a crash between the
// append and the checkpoint; the vector is then the same.
type Embedder struct {
	c      EmbedderConfig
	model  string
	batch  int
	stored uint64
	done   progress
	// waiting is what was read behind the checkpoint and is not due yet.
	waiting undecided
}

// NewEmbedder returns an embedder. It starts nothing; see [Embedder.Run].
func NewEmbedder(c EmbedderConfig) (*Embedder, error) {
	if c.Follower == nil || c.Appender == nil || c.Keys == nil || c.Model == nil ||
		c.Checkpoint == nil || c.Now == nil || c.Logger == nil {
		return nil, ErrConfig
	}
	if c.Batch <= 0 {
		c.Batch = maxEmbedBatch
	}
	if c.FirstRetry == 0 {
		c.FirstRetry = firstRetry
	}
	return &Embedder{
		c: c, model: c.Model.ID().Key(), batch: min(max(c.Model.MaxBatch(), 1), maxEmbedBatch, c.Batch),
	}, nil
}

// pendingText is one record that waits for its vector.
type pendingText struct {
	position uint64
	kind     events.Kind
	scope    seal.Scope
	record   string
	sealed   []byte
}

// Run follows the log until the context ends, whose error it then returns, or
// the log or the checkpoint can no longer be used.
func (e *Embedder) Run(ctx context.Context) error {
	position, err := e.c.Checkpoint.Load()
	if err != nil {
		return fmt.Errorf("load checkpoint: %w", err)
	}
	state, err := e.c.Follower.State(ctx)
	if err != nil {
		return fmt.Errorf("read state of the log: %w", err)
	}
	if position > state.Last {
		// The log has lost its end, and vectors with it: nobody knows of what.
		e.c.Logger.LogAttrs(ctx, slog.LevelError, "embedder starts from the beginning: the log ends before its checkpoint",
			slog.Uint64("position", position), slog.Uint64("head", state.Last))
		position = 0
	}
	e.stored = position
	e.done.reach(position)
	e.waiting = undecided{}
	var queue []pendingText
	for m, err := range e.c.Follower.Follow(ctx, position) {
		if err != nil {
			return fmt.Errorf("follow log: %w", err)
		}
		queue = append(queue, e.texts(ctx, m)...)
		due := len(queue) > 0 && m.Pending == 0 || m.Position-e.stored >= checkpointEvery
		for len(queue) >= e.batch || due && len(queue) > 0 {
			n := min(len(queue), e.batch)
			if err := e.embed(ctx, queue[:n]); err != nil {
				return err
			}
			queue = slices.Delete(queue, 0, n)
			due = due || len(queue) == 0
		}
		if len(queue) == 0 {
			e.done.reach(m.Position)
		}
		if !due {
			continue
		}
		// What waits for a decision is read again after a restart.
		safe := e.waiting.before(m.Position)
		if safe <= e.stored {
			continue
		}
		if err := e.c.Checkpoint.Store(safe); err != nil {
			return fmt.Errorf("store checkpoint: %w", err)
		}
		e.stored = safe
	}
	return fmt.Errorf("follow log: %w", context.Cause(ctx))
}

// WaitFor returns when everything up to the position has been dealt with, or
// with the context's error.
func (e *Embedder) WaitFor(ctx context.Context, position uint64) error {
	return e.done.waitFor(ctx, position)
}

// Position is up to where everything has been dealt with.
func (e *Embedder) Position() uint64 { return e.done.at() }

// texts are the records that need a vector as of a message: those in it, and
// the candidates before it that it decides on. A candidate that was rejected, or
// added to a fact of equal value, is never shown and needs none; one that waits
// for a review may come to be.
func (e *Embedder) texts(ctx context.Context, m events.Message) []pendingText {
	list := e.waiting.takeOld(m.Position)
	if !slices.ContainsFunc(m.Header.Types, embeddable) {
		return list
	}
	r, err := events.Decode(m)
	if err != nil {
		e.skip(ctx, m.Position, err)
		return list
	}
	for _, ev := range r.Events {
		switch ev := ev.(type) {
		case events.EpisodeCaptured:
			list = append(list, pendingText{
				position: r.Position, kind: events.KindEpisode, record: r.Aggregate.ID, sealed: ev.Content,
				scope: seal.Scope{Tenant: r.Aggregate.Tenant, Subject: ev.Subject, Class: ev.Class},
			})
		case events.FactProposed:
			e.waiting.add(pendingText{
				position: r.Position, kind: events.KindFact, record: ev.Fact, sealed: ev.Content,
				scope: seal.Scope{Tenant: r.Aggregate.Tenant, Subject: ev.Subject, Class: ev.Class},
			})
		case events.FactDecided:
			t, ok := e.waiting.take(ev.Fact)
			settled := ev.Decision == events.DecisionReject || ev.Decision == events.DecisionPromote && ev.Into != ev.Fact
			if ok && !settled {
				list = append(list, t)
			}
		case events.FactForgotten:
			e.waiting.take(ev.Fact)
		default:
		}
	}
	return list
}

// embeddable takes any version of the types that carry a text, or decide
// whether one is shown.
func embeddable(typ string) bool {
	return slices.ContainsFunc([]string{
		"annals.episode.captured.", "annals.fact.proposed.", "annals.fact.decided.", "annals.fact.forgotten.",
	}, func(prefix string) bool { return strings.HasPrefix(typ, prefix) })
}

// embed appends the vectors of a batch. Its only errors are the context's.
func (e *Embedder) embed(ctx context.Context, batch []pendingText) error {
	plain, err := e.open(ctx, batch)
	if err != nil {
		return err
	}
	records, texts := make([]pendingText, 0, len(batch)), make([]string, 0, len(batch))
	for i, t := range batch {
		if plain[i] != "" {
			records, texts = append(records, t), append(texts, plain[i])
		}
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := e.vectors(ctx, records, texts)
	if err != nil {
		return err
	}
	for i, v := range vectors {
		if v == nil {
			continue
		}
		if err := e.append(ctx, records[i], v); err != nil {
			return err
		}
	}
	return nil
}

// open is the text of each record, "" for what cannot be opened or says
// nothing.
func (e *Embedder) open(ctx context.Context, batch []pendingText) ([]string, error) {
	items := make([]seal.Item, len(batch))
	for i, t := range batch {
		typ := events.TypeEpisodeCaptured
		if t.kind == events.KindFact {
			typ = events.TypeFactProposed
		}
		items[i] = seal.Item{Scope: t.scope, Label: label(t.kind, t.record, typ), Sealed: t.sealed}
	}
	return persist(ctx, e, "open records", batch[0].position, func() ([]string, error) {
		texts := make([]string, len(batch))
		for i, res := range e.c.Keys.OpenMany(ctx, items) {
			switch {
			case res.Err == nil:
				texts[i] = e.searchText(ctx, batch[i], res.Plaintext)
				clear(res.Plaintext)
			case isDestroyed(res.Err):
			case errors.Is(res.Err, seal.ErrTampered), errors.Is(res.Err, seal.ErrBadToken):
				e.skip(ctx, batch[i].position, res.Err)
			default:
				return nil, fmt.Errorf("open record: %w", res.Err)
			}
		}
		return texts, nil
	})
}

func (e *Embedder) searchText(ctx context.Context, t pendingText, plain []byte) string {
	var (
		text string
		err  error
	)
	if t.kind == events.KindFact {
		var c events.FactContent
		if err = json.Unmarshal(plain, &c); err == nil {
			text = c.SearchText()
		}
	} else {
		var c events.EpisodeContent
		if err = json.Unmarshal(plain, &c); err == nil {
			text = c.SearchText()
		}
	}
	if err != nil {
		e.skip(ctx, t.position, events.ErrCorrupt) // the error itself may quote the content
	}
	return text
}

// append seals a vector under its record's key and appends it. A record whose
// key was destroyed meanwhile has none.
func (e *Embedder) append(ctx context.Context, t pendingText, vector []float32) error {
	_, err := persist(ctx, e, "append vector", t.position, func() (struct{}, error) {
		return struct{}{}, e.appendOnce(ctx, t, vector)
	})
	return err
}

func (e *Embedder) appendOnce(ctx context.Context, t pendingText, vector []float32) error {
	raw := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	defer clear(raw)
	sealed, err := e.c.Keys.Seal(ctx, t.scope, label(events.KindVector, t.record, events.TypeVectorEmbedded), raw)
	switch {
	case err == nil:
	case isDestroyed(err):
		return nil
	case errors.Is(err, seal.ErrTampered), errors.Is(err, seal.ErrBadToken):
		e.skip(ctx, t.position, err)
		return nil
	default:
		return fmt.Errorf("seal vector: %w", err)
	}
	_, err = e.c.Appender.Append(ctx, events.Commit{
		ID:        token.Vector(t.record, e.model),
		Aggregate: events.Aggregate{Tenant: t.scope.Tenant, Kind: events.KindVector, ID: events.SharedID},
		Time:      events.Micro(e.c.Now()),
		Events: []events.Event{events.VectorEmbedded{
			Record: t.record, Subject: t.scope.Subject, Class: t.scope.Class, Of: t.kind,
			Source: t.position, Model: e.model, Content: sealed, Dim: len(vector),
		}},
	}, events.ExpectAny)
	if err != nil {
		return fmt.Errorf("append vector: %w", err)
	}
	return nil
}

// persist retries an operation until it succeeds or the context ends.
func persist[T any](ctx context.Context, e *Embedder, what string, position uint64, op func() (T, error)) (T, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = e.c.FirstRetry, lastRetry
	v, err := backoff.Retry(ctx, func() (T, error) {
		v, err := op()
		switch {
		case err == nil:
			return v, nil
		case ctx.Err() != nil:
			return v, backoff.Permanent(context.Cause(ctx))
		case errors.Is(err, errRefused):
			return v, backoff.Permanent(err)
		}
		// A model may use this library too; its final errors are not final here.
		return v, &retryableError{err}
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, next time.Duration) {
			e.c.Logger.LogAttrs(ctx, slog.LevelError, "embedder retries",
				slog.String("operation", what), slog.Uint64("position", position),
				slog.String("cause", err.Error()), slog.Duration("pause", next))
		}))
	if err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// retryableError hides what an error wraps, and so what it would mean to the
// retry.
type retryableError struct{ err error }

// Error is that of the hidden error.
func (e *retryableError) Error() string { return e.err.Error() }

// skip says that something can never be embedded. The projections park it too.
func (e *Embedder) skip(ctx context.Context, position uint64, cause error) {
	e.c.Logger.LogAttrs(ctx, slog.LevelWarn, "embedder skips a record",
		slog.Uint64("position", position), slog.String("cause", cause.Error()))
}
