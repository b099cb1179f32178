package events

import (
	"context"
	"fmt"
	"time"
)

// SourceRevised says which revision of a source is current from now on: a
// document, a guideline, a record of another system. The aggregate's id is the
// token of the source. What was taken from another revision is retired by this
// one event, however much it is.
type SourceRevised struct {
	// Revision is the token of the revision.
	Revision string `json:"revision"`
	// EffectiveAt is since when it holds; of the revision before it is true up to
	// then.
	EffectiveAt time.Time `json:"effective_at"`
}

// SourceState is what the events of a source mean, folded. The zero value is a
// source without revisions, of which everything is current.
type SourceState struct {
	// Revisions are in the order of the log; the last one is current.
	Revisions []Revision `json:"revisions"`
	// Position is that of the last commit applied.
	Position uint64 `json:"position"`
}

// Revision is one revision of a source.
type Revision struct {
	SourceRevised
	At         uint64    `json:"at"`
	RecordedAt time.Time `json:"recorded_at"`
	Principal  string    `json:"principal,omitempty"`
}

// isEvent keeps Revision out of the union of events.
func (*Revision) isEvent(struct{}) {} //nolint:unused // it is there to hide the promoted one

// Apply folds one commit of the source. A commit at or below s.Position was
// applied before and changes nothing.
func (s *SourceState) Apply(r Recorded) {
	if r.Position <= s.Position {
		return
	}
	s.Position = r.Position
	for _, e := range r.Events {
		if e, ok := e.(SourceRevised); ok {
			s.Revisions = append(s.Revisions, Revision{
				SourceRevised: e, At: r.Position, RecordedAt: r.RecordedAt, Principal: r.Principal,
			})
		}
	}
}

// IsCurrent reports whether what was taken from the revision, at the position
// recorded, is current. What names no revision was taken from the one that was
// current when it was recorded.
func (s *SourceState) IsCurrent(revision string, recorded uint64) bool {
	if len(s.Revisions) == 0 {
		return true
	}
	last := s.Revisions[len(s.Revisions)-1]
	if revision == "" {
		return recorded > last.At
	}
	return revision == last.Revision
}

// WasCurrent reports the same of an earlier time: valid is the time asked about,
// known what had been recorded by then; a zero known is everything.
func (s *SourceState) WasCurrent(revision string, recorded uint64, valid, known time.Time) bool {
	var then SourceState
	for _, r := range s.Revisions {
		if (known.IsZero() || !r.RecordedAt.After(known)) && !r.EffectiveAt.After(valid) {
			then.Revisions = append(then.Revisions, r)
		}
	}
	return then.IsCurrent(revision, recorded)
}

// ReadSource returns what the log itself knows of a source. One that has no
// revisions is the zero value.
func ReadSource(ctx context.Context, log AggregateReader, tenant, source string) (SourceState, error) {
	var s SourceState
	for r, err := range log.ReadAggregate(ctx, Aggregate{Tenant: tenant, Kind: KindSource, ID: source}, 0) {
		if err != nil {
			return SourceState{}, fmt.Errorf("read source: %w", err)
		}
		s.Apply(r)
	}
	return s, nil
}
