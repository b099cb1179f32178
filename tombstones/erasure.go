package tombstones

import "github.com/annals-memory/annals/events"

// Level is how far an erasure has come.
type Level = events.Level

// The levels that a call can answer with, in the order in which they are reached.
const (
	LevelDenied      = events.LevelDenied
	LevelHeld        = events.LevelHeld
	LevelShredded    = events.LevelShredded
	LevelPurged      = events.LevelPurged
	LevelBackupsDead = events.LevelBackupsDead
)

// Erasure is the answer to a forget.
type Erasure struct {
	// ErasureID names the erasure; it stands in its tombstones. A record that
	// had been forgotten before answers with the erasure it was forgotten by. It is
	// empty for a dry run, and if nothing matched: then there is none.
	ErasureID string `json:"erasure_id,omitempty"`
	// Matched counts the records that were asked for, derived ones left out. That of
	// a whole subject is the number that its account and its receipt have.
	Matched int `json:"matched"`
	// Cascaded counts, for a dry run, the facts and candidates that would go with them,
	// because they were taken from them alone or say the same in other words.
	Cascaded *int `json:"cascaded,omitempty"`
	// Weakened counts, for a dry run, those that would lose a source and stay.
	Weakened *int `json:"weakened,omitempty"`
	// Kinds are the matched ones of a dry run by their kind.
	Kinds *Kinds `json:"kinds,omitempty"`
	// Suppressed counts the values that are kept from coming back, equal ones once, if
	// that was asked for.
	Suppressed *int `json:"suppressed,omitempty"`
	// Position is that of the last tombstone, 0 if nothing was written.
	Position uint64 `json:"position"`
	// Level is empty for a dry run. If nothing matched it is LevelDenied: nothing is
	// shown, and nothing was destroyed.
	Level Level `json:"level,omitempty"`
	// IDs are the records that would be forgotten, for a dry run.
	IDs []string `json:"ids,omitempty"`
}

// Kinds are numbers of records; facts include candidates.
type Kinds struct {
	Episodes int `json:"episodes"`
	Facts    int `json:"facts"`
}
