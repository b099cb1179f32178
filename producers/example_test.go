package producers_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
)

// An agent captures what a user said, proposes what to remember of it, and
// later takes it back.
func Example() {
	dir, err := os.MkdirTemp("", "annals")
	if err != nil {
		log.Fatal(err)
	}
	root, err := seal.OpenFileRoot(filepath.Join(dir, "root"), seal.FileRootOptions{Create: true})
	if err != nil {
		log.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
	keys, err := seal.New(seal.NewMemRows(), root, seal.Options{Now: now})
	if err != nil {
		log.Fatal(err)
	}
	g, err := producers.New(producers.Config{
		Log: memlog.New("example", now), Keys: keys, Quarantine: nodetest.NewQuarantine(now), Now: now, NewID: newID,
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	agent := events.Caller{
		Tenant: "acme", Principal: "assistant", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustUser,
	}
	said, err := g.Capture(ctx, agent, "turn-17", producers.CaptureRequest{
		Subject: "maria", Text: "I moved to Rome.", Source: events.Source{Kind: "chat", Ref: "turn-17"},
	})
	if err != nil {
		log.Fatal(err)
	}
	observed := events.At(now())
	fact, err := g.Propose(ctx, agent, "turn-17/city", producers.ProposeRequest{
		Subject: "maria", Predicate: "city", Value: jsontext.Value(`"Rome"`), Category: "profile",
		Confidence: new(0.99), ObservedAt: &observed, SourceEpisodes: []string{said.ID},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said.Status, fact.Decision)
	for _, gate := range fact.Gates {
		fmt.Println(gate.Gate, gate.Outcome, gate.Reason)
	}
	if _, err := g.Retract(ctx, agent, "", fact.FactID, producers.RetractRequest{Reason: "was a joke"}); err != nil {
		log.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		log.Fatal(err)
	}
	// Output:
	// captured promoted
	// identity promoted ok
	// liveness promoted ok
	// consent promoted ok
	// guardrail promoted ok
	// provenance promoted trusted_origin
	// confidence promoted ok
	// conflict promoted no_conflict
}
