package nodetest

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

// User is an agent that speaks for a user of a tenant.
func User(tenant string) events.Caller {
	return events.Caller{Tenant: tenant, Principal: "bot", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustUser}
}

// Episode is a capture from a chat.
func Episode(subject, text string) producers.CaptureRequest {
	return producers.CaptureRequest{Subject: subject, Text: text, Source: events.Source{Kind: "chat", Ref: "m1"}}
}

// Fact is a proposal that was observed on a day and is promoted.
func Fact(subject, predicate, value string, observed time.Time, sources ...string) producers.ProposeRequest {
	return producers.ProposeRequest{
		Subject: subject, Predicate: predicate, Value: jsontext.Value(value), Category: "profile", Confidence: new(1.0),
		ObservedAt: At(observed), SourceEpisodes: sources,
	}
}

// Name is one of many names, in the order of their numbers.
func Name(i int) string { return fmt.Sprintf("n%04d", i) }

// Tell captures an episode of the tenant acme.
func (n *Node) Tell(subject, text string) string {
	n.Helper()
	return n.TellIn("acme", Episode(subject, text))
}

// TellIn captures an episode.
func (n *Node) TellIn(tenant string, r producers.CaptureRequest) string {
	n.Helper()
	c, err := n.Capture(n.Context(), User(tenant), "", r)
	Must(n, err)
	return c.ID
}

// Promoted proposes a fact of the tenant acme that must be promoted.
func (n *Node) Promoted(r producers.ProposeRequest) string {
	n.Helper()
	return n.PromotedIn("acme", r)
}

// PromotedIn proposes a fact that must be promoted.
func (n *Node) PromotedIn(tenant string, r producers.ProposeRequest) string {
	n.Helper()
	p, err := n.Propose(n.Context(), User(tenant), "", r)
	Must(n, err)
	if p.Decision != events.DecisionPromote {
		n.Fatalf("decision is %s: %v", p.Decision, p.Gates)
	}
	return p.FactID
}

// End is the position that the log is at.
func (n *Node) End() uint64 {
	n.Helper()
	s, err := n.Events.State(n.Context())
	Must(n, err)
	return s.Last
}

// Get asks for a record, up to the end of the log.
func (n *Node) Get(id string) query.RecordRequest {
	n.Helper()
	return query.RecordRequest{ID: id, WaitFor: n.End()}
}
