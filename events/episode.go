package events

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// EpisodeCaptured begins an episode: a dated record of something that
// happened. The aggregate's id is the episode's.
type EpisodeCaptured struct {
	// Subject is the random id of whom or what the episode is about.
	Subject string `json:"subject"`
	// Class is the token of the consent category; it chooses the key.
	Class string `json:"class"`
	// OccurredAt is when it happened, to the microsecond; if the caller did
	// not say, OccurredUnknown is set and it is the time of capture.
	OccurredAt      time.Time `json:"occurred_at"`
	OccurredUnknown bool      `json:"occurred_unknown,omitempty"`
	Trust           Trust     `json:"trust"`
	// Sensitivity is one of the closed set of labels, "" for ordinary.
	Sensitivity string `json:"sensitivity,omitempty"`
	// Session, Source, Entities and Labels are tokens to filter by.
	Session  string   `json:"session,omitempty"`
	Source   string   `json:"source,omitempty"`
	Entities []string `json:"entities,omitempty"`
	Labels   []string `json:"labels,omitempty"`
	// Content is a sealed EpisodeContent.
	Content []byte `json:"content"`
}

// EpisodeContent is what is sealed in an EpisodeCaptured.
type EpisodeContent struct {
	// Subject is the outside name as the caller gave it.
	Subject  string                    `json:"subject"`
	Text     string                    `json:"text"`
	Session  string                    `json:"session,omitempty"`
	Actors   []Actor                   `json:"actors,omitempty"`
	Action   string                    `json:"action,omitempty"`
	Outcome  string                    `json:"outcome,omitempty"`
	Source   Source                    `json:"source"`
	Category string                    `json:"category,omitempty"`
	Entities []string                  `json:"entities,omitempty"`
	Metadata map[string]jsontext.Value `json:"metadata,omitempty"`
}

// Actor is who took part in an episode, and as what.
type Actor struct {
	ID   string `json:"id"`
	Role string `json:"role"`
}

// Source is the record of origin: what kind it is and how to find it.
type Source struct {
	Kind string `json:"kind"`
	Ref  string `json:"ref"`
}

// EpisodeForgotten is the tombstone of an episode. It holds no value.
type EpisodeForgotten struct {
	Subject string `json:"subject"`
	Erasure string `json:"erasure"`
}
