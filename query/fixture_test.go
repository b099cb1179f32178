package query_test

import (
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/query"
)

// Short names of what the tests of this folder say in nearly every line.
var (
	must    = nodetest.Must
	user    = nodetest.User
	episode = nodetest.Episode
	fact    = nodetest.Fact
	day     = nodetest.Day
	at      = nodetest.At
	newID   = nodetest.NewID
	name    = nodetest.Name
)

// node is a node that asks.
type node struct{ *nodetest.Node }

// options have weights and horizons beside the usual.
func options(model embed.Embedder) nodetest.Options {
	return nodetest.Options{
		Model:    model,
		Weights:  map[string]query.Weights{"fresh": {Relevance: 0.2, Freshness: 0.8}},
		Horizons: map[string]time.Duration{"slow": 365 * 24 * time.Hour},
	}
}

// inMemory is a node on the reference log.
func inMemory(tb testing.TB) *node {
	tb.Helper()
	return &node{nodetest.Start(tb, options(nil))}
}

// onNATS is a node on an embedded server, with the clock of the server.
func onNATS(tb testing.TB, model embed.Embedder) *node {
	tb.Helper()
	return &node{nodetest.Start(tb, options(model).NATS(tb))}
}

func as(role events.Role) events.Caller {
	c := user("acme")
	c.Roles = []events.Role{role}
	return c
}

// ask recalls in the tenant acme, up to the end of the log.
func (n *node) ask(r query.RecallRequest) query.RecallAnswer {
	n.Helper()
	return n.askIn("acme", r)
}

func (n *node) askIn(tenant string, r query.RecallRequest) query.RecallAnswer {
	n.Helper()
	if r.WaitFor == 0 {
		r.WaitFor = n.End()
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
	r.WaitFor = n.End()
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
