package events

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// The events of a fact slot: the aggregate of all facts about one subject,
// predicate and scope. Its id is a keyed hash of the three. A candidate that
// is promoted becomes the fact of the same id.

// FactProposed adds a candidate: a proposed fact that no policy has decided on.
type FactProposed struct {
	Fact    string `json:"fact"`
	Subject string `json:"subject"`
	Class   string `json:"class"`
	// Predicate, Scope and Category are tokens.
	Predicate  string    `json:"predicate"`
	Scope      string    `json:"scope,omitempty"`
	Category   string    `json:"category"`
	Confidence float64   `json:"confidence"`
	Trust      Trust     `json:"trust"`
	ObservedAt time.Time `json:"observed_at"`
	// ValidFrom and ValidTo are what the proposer said; zero if nothing.
	ValidFrom time.Time `json:"valid_from,omitzero"`
	ValidTo   time.Time `json:"valid_to,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// Sources are the episodes it was taken from.
	Sources []SourceRef `json:"sources"`
	// Content is a sealed FactContent.
	Content []byte `json:"content"`
}

// SourceRef names an episode that a fact was taken from. The subject is the
// episode's own, so that a forget of either reaches the fact; it is empty if
// there is no such episode.
type SourceRef struct {
	Episode string `json:"episode"`
	Subject string `json:"subject,omitempty"`
}

// FactContent is what is sealed in a FactProposed.
type FactContent struct {
	// Subject is the outside name as the caller gave it.
	Subject    string         `json:"subject"`
	Predicate  string         `json:"predicate"`
	Value      jsontext.Value `json:"value"`
	Category   string         `json:"category"`
	Scope      string         `json:"scope,omitempty"`
	Provenance []Source       `json:"provenance,omitempty"`
}

// Decision is the outcome of a policy, best first; the worst of all gates wins.
type Decision string

// The decisions.
const (
	DecisionPromote    Decision = "promoted"
	DecisionReview     Decision = "review"
	DecisionQuarantine Decision = "quarantined"
	DecisionReject     Decision = "rejected"
)

// Gate is the recorded outcome of one gate of a decision. Reason is a stable
// code, never text of a memory.
type Gate struct {
	Gate    string   `json:"gate"`
	Outcome Decision `json:"outcome"`
	Reason  string   `json:"reason"`
}

// PolicyRef names the exact policy that decided.
type PolicyRef struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// Hash is the hex SHA-256 of the policy's canonical text.
	Hash string `json:"hash"`
}

// FactDecided is the decision on a candidate, gate by gate.
type FactDecided struct {
	Fact     string    `json:"fact"`
	Decision Decision  `json:"decision"`
	Gates    []Gate    `json:"gates"`
	Policy   PolicyRef `json:"policy"`
	// Into is the fact that the candidate became or was added to, if promoted.
	Into string `json:"into,omitempty"`
}

// Interval is a stretch of valid time, From inclusive, To exclusive; a zero To
// is open.
type Interval struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to,omitzero"`
}

// FactPromoted makes a candidate a fact. Valid is when it is true: disjoint,
// ascending, empty if an older observation came too late to be true at all.
type FactPromoted struct {
	Fact  string     `json:"fact"`
	Valid []Interval `json:"valid"`
}

// FactSuperseded changes when a fact is true because another was promoted.
type FactSuperseded struct {
	Fact  string     `json:"fact"`
	By    string     `json:"by"`
	Valid []Interval `json:"valid"`
}

// FactCorroborated adds the sources of a candidate of equal value to a fact.
type FactCorroborated struct {
	Fact      string      `json:"fact"`
	Candidate string      `json:"candidate"`
	Sources   []SourceRef `json:"sources"`
}

// FactRetracted ends a fact without a replacement.
type FactRetracted struct {
	Fact  string     `json:"fact"`
	Valid []Interval `json:"valid"`
	// Content is a sealed RetractionContent.
	Content []byte `json:"content,omitempty"`
}

// RetractionContent is what is sealed in a FactRetracted.
type RetractionContent struct {
	Reason string `json:"reason"`
}

// FactSourceLost takes a forgotten source from a fact that has others.
type FactSourceLost struct {
	Fact    string `json:"fact"`
	Source  string `json:"source"`
	Erasure string `json:"erasure"`
}

// FactForgotten is the tombstone of a fact or candidate. It holds no value.
type FactForgotten struct {
	Fact    string `json:"fact"`
	Subject string `json:"subject"`
	Erasure string `json:"erasure"`
}
