package token

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events"
)

// KindCommand is the kind of a note that is of no aggregate: that of a command
// which makes no record of its own, so that its idempotency key has a row.
const KindCommand events.Kind = "command"

// Note is what is sealed beside a record's key: what tells a repetition from
// another command, and where the record's events are. It is written as JSON;
// members that this version does not know are passed over when it is read.
type Note struct {
	// Fingerprint is that of the request, "" without an idempotency key.
	Fingerprint string      `json:"fingerprint,omitempty"`
	Kind        events.Kind `json:"kind"`
	// Aggregate is the id of the aggregate; for a fact that of its slot, for a
	// command without a record its own.
	Aggregate string `json:"aggregate"`
	// Position is that of the commit of a command that has no record, if the row
	// followed it.
	Position uint64 `json:"position,omitzero"`
	// Plan is there with events.KindErasure alone.
	*Plan
}

// Plan is what a forget under an idempotency key remembers, so that its
// repetition has the same scope and the same answer.
type Plan struct {
	// Matched counts the records that were asked for.
	Matched int `json:"matched"`
	// UpTo is the position up to which records can match, 0 without a filter.
	UpTo uint64 `json:"up_to,omitzero"`
	// Subject is the id of a subject that is being forgotten.
	Subject string `json:"subject,omitempty"`
}

// Encode returns the note as it is sealed.
func (n Note) Encode() ([]byte, error) {
	b, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("encode note: %w", err)
	}
	return b, nil
}

// ParseNote reads what [Note.Encode] wrote. Anything else is events.ErrCorrupt.
func ParseNote(b []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(b, &n); err != nil {
		return Note{}, fmt.Errorf("decode note: %w", events.ErrCorrupt) // the error itself may quote it
	}
	return n, nil
}
