package query_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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

// clock is a clock that moves by a millisecond each time it is read, so that
// every commit has a time of its own, and by days when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Millisecond)
	return c.now
}

func (c *clock) days(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.AddDate(0, 0, n)
}

// day is noon of a day of January 2026.
func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }

func at(t time.Time) *events.Time {
	x := events.At(t)
	return &x
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// traces lets query write its traces through a gateway, as the binary does.
type traces struct{ gateway *producers.Gateway }

func (t traces) RecordRecall(ctx context.Context, caller events.Caller, r query.Recalled) (string, uint64, error) {
	return t.gateway.RecordRecall(ctx, caller, producers.Recall(r))
}

// encoder lets query embed its questions, as the binary does.
type encoder struct{ model embed.Embedder }

func (e encoder) Key() string { return e.model.ID().Key() }

func (e encoder) EncodeQuery(ctx context.Context, text string) ([]float32, error) {
	v, err := e.model.Embed(ctx, []string{text}, embed.Query)
	if err != nil {
		return nil, err
	}
	return v[0], nil
}

// pen is a quarantine in memory.
type pen struct{}

func (pen) Put(context.Context, string, string, events.Message) error { return nil }

// node is all that a process has, on a log.
type node struct {
	testing.TB
	*producers.Gateway
	*query.Service
	*tombstones.Eraser

	clock *clock
	log   events.Log
	keys  *seal.Keyring
	views *projectors.Views
	// stop ends the following of the log: the views stay as they are.
	stop func()
}

// inMemory is a node on the reference log.
func inMemory(tb testing.TB) *node {
	tb.Helper()
	c := newClock()
	return start(tb, c, memlog.New("test", c.Now), seal.NewMemRows(), nil)
}

// onNATS is a node on an embedded server, with the clock of the server.
func onNATS(tb testing.TB, model embed.Embedder) *node {
	tb.Helper()
	srv, err := natslog.StartServer(tb.Context(), natslog.Options{Dir: tb.TempDir(), Durability: natslog.DurabilityProcess})
	must(tb, err)
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	nc, err := srv.Connect(tb.Context())
	must(tb, err)
	tb.Cleanup(nc.Close)
	s, err := natslog.Open(tb.Context(), nc, natslog.Config{CreateStreams: true})
	must(tb, err)
	return start(tb, &clock{now: time.Now()}, s.Log(), s.Keys(), model)
}

func start(tb testing.TB, c *clock, log events.Log, rows seal.Rows, model embed.Embedder) *node {
	tb.Helper()
	root, err := seal.OpenFileRoot(tb.TempDir()+"/root", seal.FileRootOptions{Create: true})
	must(tb, err)
	keys, err := seal.New(rows, root, seal.Options{Now: c.Now})
	must(tb, err)
	n := &node{TB: tb, clock: c, log: log, keys: keys}
	n.Gateway, err = producers.New(producers.Config{Log: log, Keys: keys, Quarantine: pen{}, Now: c.Now, NewID: newID})
	must(tb, err)
	config := projectors.Config{Dir: tb.TempDir(), Log: log, Keys: keys, Now: c.Now}
	questions := query.Config{
		Keys: keys, Log: log, Traces: traces{n.Gateway}, Now: c.Now,
		Weights:  map[string]query.Weights{"fresh": {Relevance: 0.2, Freshness: 0.8}},
		Horizons: map[string]time.Duration{"slow": 365 * 24 * time.Hour},
	}
	if model != nil {
		config.Model, questions.Model = model.ID().Key(), encoder{model}
		n.embed(model)
	}
	n.views, err = projectors.Open(tb.Context(), config)
	must(tb, err)
	tb.Cleanup(func() {
		if err := n.views.Close(); err != nil {
			tb.Error(err)
		}
	})
	n.stop = n.background(n.views.Run)
	questions.Views = n.views
	n.Service, err = query.New(questions)
	must(tb, err)
	n.Eraser, err = tombstones.New(tombstones.Config{
		Log: log, Keys: keys, Views: query.NewErasingViews(n.views), Now: c.Now, NewID: newID,
	})
	must(tb, err)
	return n
}

// embed runs an embedder beside the node.
func (n *node) embed(model embed.Embedder) {
	n.Helper()
	e, err := producers.NewEmbedder(producers.EmbedderConfig{
		Follower: n.log, Appender: n.log, Keys: n.keys, Model: model,
		Checkpoint: producers.FileCheckpoint(n.TempDir(), "log", model.ID().Key()), Now: n.clock.Now, Logger: discard(),
	})
	must(n, err)
	n.background(e.Run)
}

// background runs a loop until it is stopped or the test ends.
func (n *node) background(run func(context.Context) error) (stop func()) {
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

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// user is an agent that speaks for a user of a tenant.
func user(tenant string) events.Caller {
	return events.Caller{Tenant: tenant, Principal: "bot", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustUser}
}

func as(role events.Role) events.Caller {
	c := user("acme")
	c.Roles = []events.Role{role}
	return c
}

func episode(subject, text string) producers.CaptureRequest {
	return producers.CaptureRequest{Subject: subject, Text: text, Source: events.Source{Kind: "chat", Ref: "m1"}}
}

// fact is a proposal that was observed on a day and is promoted.
func fact(subject, predicate, value string, observed time.Time, sources ...string) producers.ProposeRequest {
	return producers.ProposeRequest{
		Subject: subject, Predicate: predicate, Value: jsontext.Value(value), Category: "profile", Confidence: new(1.0),
		ObservedAt: at(observed), SourceEpisodes: sources,
	}
}

// tell captures an episode of the tenant acme.
func (n *node) tell(subject, text string) string {
	n.Helper()
	return n.tellIn("acme", episode(subject, text))
}

func (n *node) tellIn(tenant string, r producers.CaptureRequest) string {
	n.Helper()
	c, err := n.Capture(n.Context(), user(tenant), "", r)
	must(n, err)
	return c.ID
}

// hold proposes a fact of the tenant acme that must be promoted.
func (n *node) hold(r producers.ProposeRequest) string {
	n.Helper()
	return n.holdIn("acme", r)
}

func (n *node) holdIn(tenant string, r producers.ProposeRequest) string {
	n.Helper()
	p, err := n.Propose(n.Context(), user(tenant), "", r)
	must(n, err)
	if p.Decision != events.DecisionPromote {
		n.Fatalf("decision is %s: %v", p.Decision, p.Gates)
	}
	return p.FactID
}

// end is the position that the log is at.
func (n *node) end() uint64 {
	n.Helper()
	s, err := n.log.State(n.Context())
	must(n, err)
	return s.Last
}

// ask recalls in the tenant acme, up to the end of the log.
func (n *node) ask(r query.RecallRequest) query.RecallAnswer {
	n.Helper()
	return n.askIn("acme", r)
}

func (n *node) askIn(tenant string, r query.RecallRequest) query.RecallAnswer {
	n.Helper()
	if r.WaitFor == 0 {
		r.WaitFor = n.end()
	}
	a, err := n.Recall(n.Context(), user(tenant), r)
	must(n, err)
	return a
}

func texts(a query.RecallAnswer) []string {
	list := make([]string, len(a.Results))
	for i, r := range a.Results {
		list[i] = r.Text
	}
	return list
}

// facts lists facts of the tenant acme, up to the end of the log.
func (n *node) facts(r query.FactsRequest) []query.Fact {
	n.Helper()
	r.WaitFor = n.end()
	a, err := n.Facts(n.Context(), user("acme"), r)
	must(n, err)
	return a.Facts
}

func values(facts []query.Fact) []string {
	list := make([]string, len(facts))
	for i, f := range facts {
		list[i] = string(f.Value)
	}
	return list
}

func (n *node) get(id string) query.RecordRequest {
	n.Helper()
	return query.RecordRequest{ID: id, WaitFor: n.end()}
}

func name(i int) string { return fmt.Sprintf("n%04d", i) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
