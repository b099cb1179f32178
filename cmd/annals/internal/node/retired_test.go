package node_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/bench"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

// A recall looks through 8,192 candidates at most: with more than that, what is retired must be out
// before it is ranked.
var retired = flag.Int("retired", 1_000, "how many near-duplicates of an earlier revision there are")

// However many near-duplicates of an earlier revision match the question
// better, the one of the current revision is found, and retiring them takes no longer.
func TestRetiredDoNotCrowdOut(t *testing.T) {
	t.Parallel()
	g := &guideline{fixture: openWith(t, node.Options{Durability: "process", Model: bench.StandIn{}}), ref: "bp"}
	g.token = g.fixture.token("acme")
	const question = "Treat blood pressure above a threshold of 140 mmHg"
	g.revise("2025", firstHolds)
	for n := range slices.Chunk(make([]struct{}, *retired), 1000) {
		items := make([]obj, len(n))
		for i := range items {
			items[i] = obj{"subject": "cardiology", "text": question + ".", "source": g.source("2025")}
		}
		g.do(g.token, http.MethodPost, "/v1/episodes/batch", obj{"items": items}, http.StatusOK)
		g.settle()
	}
	// It has one of the words of the question among many others.
	fresh := g.capture(g.token, "cardiology", "In adults of any age begin to treat as soon as 130 has been measured twice.",
		"source", g.source("2026"))
	g.settle()
	ask := func() (answer, time.Duration) {
		begun := time.Now()
		body := obj{"query": question, "k": 5, "wait_for": g.head()}
		a := g.do(g.token, http.MethodPost, "/v1/recall", body, http.StatusOK)
		return a, time.Since(begun)
	}
	a, before := ask()
	if n := len(get[[]any](a, "results")); n != 5 || bytes.Contains(a.body, []byte(fresh)) {
		t.Fatalf("control: %d results, or they are no better: %s", n, a.body)
	}
	begun := time.Now()
	g.revise("2026", secondHolds)
	a, after := ask()
	t.Logf("%d retired: recall took %v before and %v after, with the revision %v",
		*retired, before.Round(time.Millisecond), after.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
	if r := get[[]any](a, "results"); len(r) != 1 || !bytes.Contains(a.body, []byte(fresh)) {
		t.Fatalf("%d results, not the current one: %s", len(r), a.body)
	}
	for i := range 3 {
		if _, took := ask(); testing.Verbose() {
			t.Log(fmt.Sprint("again ", i, ": ", took.Round(time.Microsecond)))
		}
	}
}
