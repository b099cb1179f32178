package producers

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// CaptureRequest asks to keep one episode.
type CaptureRequest struct {
	// Subject is the outside name of whom or what it is about.
	Subject string `json:"subject"`
	// Text is what happened, at most 1 MiB.
	Text string `json:"text"`
	// OccurredAt is when it happened; left out, it is the time of capture and
	// is marked as unknown.
	OccurredAt *events.Time   `json:"occurred_at,omitempty"`
	Session    string         `json:"session,omitempty"`
	Actors     []events.Actor `json:"actors,omitempty"`
	Action     string         `json:"action,omitempty"`
	Outcome    string         `json:"outcome,omitempty"`
	Source     events.Source  `json:"source"`
	// ChannelTrust can lower the trust of the caller's channel, never raise it.
	ChannelTrust string `json:"channel_trust,omitempty"`
	// Sensitivity is normal, personal, special or secret; left out, normal.
	Sensitivity string `json:"sensitivity,omitempty"`
	// Category is the consent category; left out, it is "general".
	Category string   `json:"category,omitempty"`
	Entities []string `json:"entities,omitempty"`
	// Traces are the recalls whose answers the text may have been written from. They
	// can lower its trust, never raise it: all that an agent recalled in the last 15
	// minutes counts as well, whatever it names.
	Traces   []string                  `json:"traces,omitzero"`
	Metadata map[string]jsontext.Value `json:"metadata,omitempty"`
}

// CaptureBatchRequest asks to keep 1 to 1,000 episodes, each on its own terms.
type CaptureBatchRequest struct {
	Items []CaptureRequest `json:"items"`
}

// ProposeRequest asks to remember a fact.
type ProposeRequest struct {
	Subject   string `json:"subject"`
	Predicate string `json:"predicate"`
	// Value is any JSON, at most 64 KiB.
	Value    jsontext.Value `json:"value"`
	Category string         `json:"category"`
	// Scope keeps facts of one predicate apart that are for different uses.
	Scope string `json:"scope,omitempty"`
	// Confidence is a number from 0 to 1. There is no default.
	Confidence *float64     `json:"confidence"`
	ObservedAt *events.Time `json:"observed_at"`
	// ValidFrom is since when it is true; left out, since it was observed.
	ValidFrom *events.Time `json:"valid_from,omitempty"`
	// ValidTo is until when it is true, exclusive; left out, until something
	// else is.
	ValidTo *events.Time `json:"valid_to,omitempty"`
	// SourceEpisodes are the episodes it was taken from.
	SourceEpisodes []string        `json:"source_episodes"`
	Provenance     []events.Source `json:"provenance,omitempty"`
	// Traces are the recalls whose answers it may have been made from, as of an
	// episode.
	Traces []string `json:"traces,omitzero"`
	// Supersedes is the fact that the caller takes to be current since the fact
	// begins to be true; "" is no opinion. If another one is, nothing is written.
	Supersedes string       `json:"supersedes,omitempty"`
	ExpiresAt  *events.Time `json:"expires_at,omitempty"`
}

// RetractRequest asks to end a fact without a replacement.
type RetractRequest struct {
	Reason string `json:"reason"`
}

// Recall is a recall to keep a trace of.
type Recall struct {
	// Subject is the id of the subject asked about, "" for the whole tenant.
	Subject string
	Query   string
	// Memories are the ids in the answer, best first.
	Memories []string
	// At is the position that was read.
	At uint64
	// Weights names the weights that ranked.
	Weights string
	// Lowest is the lowest trust of the memories, zero if there are none.
	Lowest events.Trust
	// Terms are those of the memories, nil if they were not ranked.
	Terms *events.RecallTerms
}

// UseRequest reports which recalled memories went into an answer.
type UseRequest struct {
	MemoryIDs []string `json:"memory_ids"`
	// AnswerRef is the caller's name for the answer.
	AnswerRef string `json:"answer_ref,omitempty"`
}

// FeedbackRequest judges one recalled memory.
type FeedbackRequest struct {
	MemoryID string `json:"memory_id"`
	// Judgement is useful, irrelevant, stale or wrong.
	Judgement string `json:"judgement"`
}
