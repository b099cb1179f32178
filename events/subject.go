package events

import (
	"context"
	"fmt"
	"slices"
)

// SubjectRegistered is the first event of a subject. The aggregate's id is the
// subject's random id.
type SubjectRegistered struct {
	Class string `json:"class"`
	// Content is a sealed SubjectContent.
	Content []byte `json:"content"`
}

// SubjectContent is what is sealed in a SubjectRegistered.
type SubjectContent struct {
	// Name is the outside name.
	Name string `json:"name"`
}

// SubjectForgotten is the tombstone of a subject and of everything about it.
// It holds no value. The id is never used again.
type SubjectForgotten struct {
	Erasure string `json:"erasure"`
}

// SubjectHeld puts a legal hold on a subject: its memories are kept and no
// ordinary read shows them, whatever was or will be asked, until the hold is
// lifted.
type SubjectHeld struct {
	// Hold is the token of the hold's name.
	Hold string `json:"hold"`
}

// SubjectReleased lifts a legal hold.
type SubjectReleased struct {
	Hold string `json:"hold"`
}

// ConsentGranted says that a subject agreed to one category being kept.
type ConsentGranted struct {
	// Category is the token of the category, which is its class too.
	Category string `json:"category"`
	// Content is a sealed ConsentContent.
	Content []byte `json:"content"`
}

// ConsentContent is what is sealed in a ConsentGranted.
type ConsentContent struct {
	Category string `json:"category"`
	Basis    string `json:"basis,omitempty"`
}

// ConsentWithdrawn takes a consent back. What was kept under it is forgotten by
// the erasure named.
type ConsentWithdrawn struct {
	Category string `json:"category"`
	Erasure  string `json:"erasure"`
}

// SubjectState is what the events of a subject mean, folded. The zero value is a
// subject that nothing is known of.
type SubjectState struct {
	// Registered says that it has its first event.
	Registered bool
	// Erasure is that of its tombstone, "" while it lives, and Tombstone the
	// position of that.
	Erasure   string
	Tombstone uint64
	// Holds are the tokens of the legal holds on it, in order.
	Holds []string
	// Consents tell the categories that consent was given for, or taken back from.
	Consents map[string]bool
	// Exports are in the order of the log: who was given what is kept of it.
	Exports []Export
	// Position is that of the last commit applied.
	Position uint64
}

// Apply folds one commit of the subject. A commit at or below s.Position was
// applied before and changes nothing. Holds outlive the tombstone.
func (s *SubjectState) Apply(r Recorded) {
	if r.Position <= s.Position {
		return
	}
	s.Position = r.Position
	for _, e := range r.Events {
		switch e := e.(type) {
		case SubjectRegistered:
			s.Registered = true
		case SubjectForgotten:
			if s.Erasure == "" {
				s.Erasure, s.Tombstone = e.Erasure, r.Position
			}
		case SubjectHeld:
			if i, found := slices.BinarySearch(s.Holds, e.Hold); !found {
				s.Holds = slices.Insert(s.Holds, i, e.Hold)
			}
		case SubjectReleased:
			s.Holds = slices.DeleteFunc(s.Holds, func(h string) bool { return h == e.Hold })
		case ConsentGranted:
			s.consent(e.Category, true)
		case ConsentWithdrawn:
			s.consent(e.Category, false)
		case SubjectExported:
			s.Exports = append(s.Exports, Export{SubjectExported: e, Principal: r.Principal, RecordedAt: r.RecordedAt})
		default:
		}
	}
}

func (s *SubjectState) consent(category string, given bool) {
	if s.Consents == nil {
		s.Consents = make(map[string]bool)
	}
	s.Consents[category] = given
}

// ReadSubject returns what the log itself knows of a subject, for who cannot go
// by a view, which may be behind. A subject that nothing was ever written of is
// the zero value. For one that was only registered it takes no longer than to
// read its last commit.
func ReadSubject(ctx context.Context, log AggregateReader, tenant, sid string) (SubjectState, error) {
	var s SubjectState
	for r, err := range log.ReadAggregate(ctx, Aggregate{Tenant: tenant, Kind: KindSubject, ID: sid}, 0) {
		if err != nil {
			return SubjectState{}, fmt.Errorf("read subject: %w", err)
		}
		s.Apply(r)
	}
	return s, nil
}
