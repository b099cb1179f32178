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
	// Revision is the token of the source's revision, "" if none was named.
	Revision string `json:"revision,omitempty"`
	// Traces are the ids of the recalls whose answers the text may have been
	// written from.
	Traces []string `json:"traces,omitempty"`
	// Guard is what the scan of it found.
	Guard Guard `json:"guard,omitzero"`
	// Released is the trust that it had in quarantine, before a reviewer let it
	// out; zero if it never was there.
	Released Trust `json:"released,omitzero"`
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
	// Note is what the reviewer said who let it out of quarantine. It is no part of
	// what happened, and told to nobody who reads the episode.
	Note string `json:"note,omitempty"`
}

// Actor is who took part in an episode, and as what.
type Actor struct {
	ID   string `json:"id"`
	Role string `json:"role"`
}

// Source is the record of origin: what kind it is and how to find it. The
// revision is which state of it was read, "" if that is not known; it is no part
// of what the source is.
type Source struct {
	Kind     string `json:"kind"`
	Ref      string `json:"ref"`
	Revision string `json:"revision,omitempty"`
}

// EpisodeQuarantined is the first event of an episode that waits for a reviewer.
// Its content is elsewhere, for as long as the wait may take, and reaches no view
// from there. A release is an EpisodeCaptured.
type EpisodeQuarantined struct {
	Subject string `json:"subject"`
	Class   string `json:"class"`
	Trust   Trust  `json:"trust"`
	// Until is when it is gone if nobody has released it.
	Until time.Time `json:"until"`
	Guard Guard     `json:"guard,omitzero"`
	// Hash is the hex SHA-256 of the sealed message that waits.
	Hash string `json:"hash"`
}

// EpisodeDropped ends the wait of a quarantined episode: it is gone.
type EpisodeDropped struct {
	Subject string `json:"subject"`
	// Expired says that nobody decided in time; else a reviewer dropped it.
	Expired bool `json:"expired,omitempty"`
	// Content is a sealed ReviewContent, nil without a note. Its key is that of the
	// commit: the episode's is destroyed.
	Content []byte `json:"content,omitempty"`
}

// EpisodeForgotten is the tombstone of an episode. It holds no value.
type EpisodeForgotten struct {
	Subject string `json:"subject"`
	Erasure string `json:"erasure"`
}
