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
	// Traces are the ids of the recalls whose answers it may have been made from.
	Traces []string `json:"traces,omitempty"`
	// Guard is what the scan of its value found.
	Guard Guard `json:"guard,omitzero"`
	// Edits is the candidate that a reviewer replaced by this one, or "".
	Edits string `json:"edits,omitempty"`
	// Content is a sealed FactContent.
	Content []byte `json:"content"`
}

// SourceRef names an episode that a fact was taken from. The subject is the
// episode's own, so that a forget of either reaches the fact; it is empty if
// there is no such episode.
type SourceRef struct {
	Episode string `json:"episode"`
	Subject string `json:"subject,omitempty"`
	// Source and Revision are the episode's, and At is its position: whether it
	// is of the current revision is asked of the source.
	Source   string `json:"source,omitempty"`
	Revision string `json:"revision,omitempty"`
	At       uint64 `json:"at,omitzero"`
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
	// Basis is what was decided on beside the candidate: with it and the content
	// the same policy decides the same again.
	Basis Basis `json:"basis,omitzero"`
}

// Basis is what a decision was made on, beside the candidate. Nothing of it
// names anybody.
type Basis struct {
	// Evidence is what the log said of the sources, in the order of the request.
	Evidence []EvidenceBasis `json:"evidence,omitempty"`
	// Context is the lowest trust of the memories that the candidate may have been
	// made from by way of a recall; zero if there was none.
	Context Trust `json:"context,omitzero"`
	// Consent is what the subject says of the category: ConsentGiven,
	// ConsentTakenBack or "" for nothing.
	Consent string `json:"consent,omitempty"`
	// Conflict is the reason of the place in the slot.
	Conflict string `json:"conflict,omitempty"`
	// Guard is what the scan of the candidate found with the rules of the time.
	Guard Guard `json:"guard,omitzero"`
	// Reviews are the reviews of exactly these bytes so far.
	Reviews []ReviewBasis `json:"reviews,omitempty"`
	// At is the time of the decision, by its writer's clock.
	At time.Time `json:"at,omitzero"`
}

// IsZero reports whether nothing was recorded, as in a log of an earlier version.
func (b Basis) IsZero() bool { return b.At.IsZero() }

// What a subject says of a category.
const (
	ConsentGiven     = "granted"
	ConsentTakenBack = "withdrawn"
)

// EvidenceBasis is what the log said of one source.
type EvidenceBasis struct {
	Episode string `json:"episode,omitempty"`
	// Found says that there is such an episode, Forgotten that it has a
	// tombstone, Other that it is about another subject, Retired that it is of a
	// revision of its source that is not the current one.
	Found     bool  `json:"found,omitempty"`
	Forgotten bool  `json:"forgotten,omitempty"`
	Other     bool  `json:"other,omitempty"`
	Retired   bool  `json:"retired,omitempty"`
	Trust     Trust `json:"trust,omitzero"`
	// Sensitivity is that of the episode, "" for ordinary.
	Sensitivity string `json:"sensitivity,omitempty"`
	// Principal is the token of who captured it.
	Principal string `json:"principal,omitempty"`
	// Guard is what the scan of it found.
	Guard Guard `json:"guard,omitzero"`
}

// ReviewBasis is one review.
type ReviewBasis struct {
	// Reviewer is the token of the reviewer.
	Reviewer string  `json:"reviewer"`
	Verdict  Verdict `json:"verdict"`
}

// Verdict is what a reviewer says.
type Verdict string

// The verdicts.
const (
	VerdictApprove Verdict = "approved"
	VerdictReject  Verdict = "rejected"
	// VerdictEdit replaces the candidate by an edited one, which is approved.
	VerdictEdit Verdict = "edited"
	// VerdictWithdraw stands among the reviews of a slot where a reviewer has taken its
	// own back and others' stand. No event has it.
	VerdictWithdraw Verdict = "withdrawn"
)

// FactReviewed is what a reviewer, who is the commit's principal, said of a
// candidate. What follows from it is in the same commit.
type FactReviewed struct {
	Fact    string  `json:"fact"`
	Verdict Verdict `json:"verdict"`
	// Hash is the hex SHA-256 of the candidate as it was shown, sealed.
	Hash string `json:"hash"`
	// Content is a sealed ReviewContent, nil without a note.
	Content []byte `json:"content,omitempty"`
	// Into is the candidate that an edit made, or "".
	Into string `json:"into,omitempty"`
}

// ReviewContent is what is sealed in a FactReviewed.
type ReviewContent struct {
	Note string `json:"note"`
}

// FactReopened takes the reviews of a candidate back: it waits for a review again and
// is true at no time. While it waits still, and the commit's principal is not the only
// one who has reviewed it, what the others have said stands.
type FactReopened struct {
	Fact string `json:"fact"`
}

// FactRestored gives a fact the time back that another took from it, because the
// promotion of that one was taken back.
type FactRestored struct {
	Fact  string     `json:"fact"`
	Valid []Interval `json:"valid"`
	// By is the fact that had superseded it before, or "".
	By string `json:"by,omitempty"`
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
