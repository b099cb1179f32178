package nodetest

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// Node is all that a process has, on a log. It ends with its test.
type Node struct {
	testing.TB
	*producers.Gateway
	*query.Service
	*tombstones.Eraser

	Clock *Clock
	// Events is the log; TB has a method of that name.
	Events events.Log
	Keys   *seal.Keyring
	Rows   seal.Rows
	Views  *projectors.Views
	// Stop ends the following of the log: the views stay as they are.
	Stop func()
}

// Options are what a node is made of. What is absent is in memory; without a
// model there are no vectors.
type Options struct {
	Clock      *Clock
	Log        events.Log
	Rows       seal.Rows
	Quarantine producers.Quarantine
	Model      embed.Embedder
	Weights    map[string]query.Weights
	Horizons   map[string]time.Duration
	// Scanner looks at what is read; what is written is not scanned.
	Scanner query.Scanner
}

// NATS puts an embedded server, which has a clock of its own, under the options.
func (o Options) NATS(tb testing.TB) Options {
	tb.Helper()
	srv, err := natslog.StartServer(tb.Context(), natslog.Options{Dir: tb.TempDir(), Durability: natslog.DurabilityProcess})
	Must(tb, err)
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	nc, err := srv.Connect(tb.Context())
	Must(tb, err)
	tb.Cleanup(nc.Close)
	s, err := natslog.Open(tb.Context(), nc, natslog.Config{CreateStreams: true})
	Must(tb, err)
	o.Clock, o.Log, o.Rows, o.Quarantine = &Clock{now: time.Now()}, s.Log(), s.Keys(), s.Quarantine()
	return o
}

// inMemory fills in what is absent.
func (o Options) inMemory() Options {
	if o.Clock == nil {
		o.Clock = NewClock()
	}
	if o.Log == nil {
		o.Log = memlog.New("test", o.Clock.Now)
	}
	if o.Rows == nil {
		o.Rows = seal.NewMemRows()
	}
	if o.Quarantine == nil {
		o.Quarantine = NewQuarantine(o.Clock.Now)
	}
	return o
}

// Start starts a node. Its views follow the log.
func Start(tb testing.TB, o Options) *Node {
	tb.Helper()
	o = o.inMemory()
	root, err := seal.OpenFileRoot(tb.TempDir()+"/root", seal.FileRootOptions{Create: true})
	Must(tb, err)
	now := o.Clock.Now
	keys, err := seal.New(o.Rows, root, seal.Options{Now: now})
	Must(tb, err)
	n := &Node{TB: tb, Clock: o.Clock, Events: o.Log, Keys: keys, Rows: o.Rows}
	n.Gateway, err = producers.New(producers.Config{Log: o.Log, Keys: keys, Quarantine: o.Quarantine, Now: now, NewID: NewID})
	Must(tb, err)
	views := projectors.Config{Dir: tb.TempDir(), Log: o.Log, Keys: keys, Now: now}
	questions := query.Config{
		Keys: keys, Log: o.Log, Traces: traces{n.Gateway}, Now: now, Weights: o.Weights, Horizons: o.Horizons, Scanner: o.Scanner,
	}
	if o.Model != nil {
		views.Model, questions.Model = o.Model.ID().Key(), encoder{o.Model}
		n.embed(o.Model)
	}
	n.Views, err = projectors.Open(tb.Context(), views)
	Must(tb, err)
	tb.Cleanup(func() {
		if err := n.Views.Close(); err != nil {
			tb.Error(err)
		}
	})
	n.Stop = n.Background(n.Views.Run)
	questions.Views = n.Views
	n.Service, err = query.New(questions)
	Must(tb, err)
	n.Eraser, err = tombstones.New(tombstones.Config{
		Log: o.Log, Keys: keys, Views: query.NewErasingViews(n.Views), Now: now, NewID: NewID,
		Wait: patience,
	})
	Must(tb, err)
	return n
}

// patience is how long a forget waits for the views: under the race detector, on
// a machine that does much else, a thousand tombstones take their time.
const patience = time.Minute

// embed runs an embedder beside the node.
func (n *Node) embed(model embed.Embedder) {
	n.Helper()
	e, err := producers.NewEmbedder(producers.EmbedderConfig{
		Follower: n.Events, Appender: n.Events, Keys: n.Keys, Model: model, Now: n.Clock.Now,
		Checkpoint: producers.FileCheckpoint(n.TempDir(), "log", model.ID().Key()), Logger: slog.New(slog.DiscardHandler),
	})
	Must(n, err)
	n.Background(e.Run)
}

// Background runs a loop until it is stopped or the test ends.
func (n *Node) Background(run func(context.Context) error) (stop func()) {
	n.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			n.Errorf("run: %v", err)
		}
	})
	n.Cleanup(stop)
	return stop
}

// Must ends the test with an error.
func Must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// NewID returns a fresh id.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
