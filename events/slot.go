package events

import (
	"slices"
	"time"
)

// FactStatus is the state of one fact or candidate in its slot.
type FactStatus string

// The states of a fact. Only StatusActive can be current.
const (
	StatusCandidate  FactStatus = "candidate" // proposed, waiting for a decision or a review
	StatusRejected   FactStatus = "rejected"
	StatusMerged     FactStatus = "merged" // of equal value: its sources went to another fact
	StatusActive     FactStatus = "active"
	StatusSuperseded FactStatus = "superseded"
	StatusRetracted  FactStatus = "retracted"
	StatusDeleted    FactStatus = "deleted" // a tombstone
)

// SlotFact is what a slot knows of one of its facts.
type SlotFact struct {
	FactProposed
	Status   FactStatus  `json:"status"`
	Decision FactDecided `json:"decision"`
	// Valid is when the fact is true, disjoint and ascending.
	Valid        []Interval `json:"valid,omitempty"`
	SupersededBy string     `json:"superseded_by,omitempty"`
	// Principal is who proposed it.
	Principal string `json:"principal,omitempty"`
	// Command is the id of the commit that proposed it.
	Command    string    `json:"command,omitempty"`
	ProposedAt uint64    `json:"proposed_at"`
	RecordedAt time.Time `json:"recorded_at"`
	// ChangedAt and ChangedTime are those of the last commit that touched it.
	ChangedAt   uint64    `json:"changed_at"`
	ChangedTime time.Time `json:"changed_time"`
	// Reviews are those of the candidate, oldest first. Those before Reopened, which is
	// a position, were taken back, as were those that their reviewer has withdrawn.
	Reviews  []Review `json:"reviews,omitempty"`
	Reopened uint64   `json:"reopened,omitempty"`
	// Retraction is the sealed reason of a retraction.
	Retraction []byte `json:"retraction,omitempty"`
	Erasure    string `json:"erasure,omitempty"`
}

// Review is one review of a candidate.
type Review struct {
	FactReviewed
	// Reviewer is the token of the principal.
	Reviewer   string    `json:"reviewer"`
	Position   uint64    `json:"position"`
	RecordedAt time.Time `json:"recorded_at"`
}

// isEvent keeps Review out of the union of events.
func (*Review) isEvent(struct{}) {} //nolint:unused // it is there to hide the promoted one

// Standing are the reviews that were not taken back.
func (f *SlotFact) Standing() []Review {
	var list []Review
	for _, r := range f.Reviews {
		switch {
		case r.Position <= f.Reopened:
		case r.Verdict == VerdictWithdraw:
			list = slices.DeleteFunc(list, func(said Review) bool { return said.Reviewer == r.Reviewer })
		default:
			list = append(list, r)
		}
	}
	return list
}

// withdraws reports whether a reviewer who takes its review back is one of several of a
// candidate that waits.
func (f *SlotFact) withdraws(reviewer string) bool {
	standing := f.Standing()
	own := func(r Review) bool { return r.Reviewer == reviewer }
	return f.Status == StatusCandidate && slices.ContainsFunc(standing, own) &&
		slices.ContainsFunc(standing, func(r Review) bool { return !own(r) })
}

// Stands reports whether what a reviewer said at a position was not taken back.
func (f *SlotFact) Stands(reviewer string, position uint64) bool {
	return slices.ContainsFunc(f.Standing(), func(r Review) bool { return r.Reviewer == reviewer && r.Position == position })
}

// isEvent keeps SlotFact out of the union of events, which the event that it
// embeds would bring it into.
func (*SlotFact) isEvent(struct{}) {} //nolint:unused // it is there to hide the promoted one

// Slot is the state of a fact slot: what its events mean, folded. Producers
// decide on it and projectors store it. The zero value is the empty slot.
//
// Its invariant: the Valid intervals of all its facts are
// disjoint, so that at any moment at most one fact is true.
type Slot struct {
	// Facts are in the order of their proposal.
	Facts []*SlotFact `json:"facts"`
	// Position is that of the last commit applied.
	Position uint64 `json:"position"`
}

// Find returns the fact with the id, or nil.
func (s *Slot) Find(id string) *SlotFact {
	for _, f := range s.Facts {
		if f.Fact == id {
			return f
		}
	}
	return nil
}

// At returns the fact that is true at t, or nil.
func (s *Slot) At(t time.Time) *SlotFact {
	for _, f := range s.Facts {
		if f.TrueAt(t) {
			return f
		}
	}
	return nil
}

// TrueAt reports whether t is within one of f's intervals.
func (f *SlotFact) TrueAt(t time.Time) bool {
	return slices.ContainsFunc(f.Valid, func(iv Interval) bool { return iv.Contains(t) })
}

// Contains reports whether t is in the interval.
func (iv Interval) Contains(t time.Time) bool {
	return !t.Before(iv.From) && (iv.To.IsZero() || t.Before(iv.To))
}

// Apply folds one commit of the slot into s and returns the ids of the facts
// it touched, in order and without repetition. A commit at or below s.Position
// was applied before and changes nothing. Events of other aggregates are no
// part of a slot and are ignored.
func (s *Slot) Apply(r Recorded) []string {
	if r.Position <= s.Position {
		return nil
	}
	s.Position = r.Position
	var touched []string
	for _, e := range r.Events {
		id := s.apply(e, r)
		if id == "" {
			continue
		}
		if f := s.Find(id); f != nil {
			f.ChangedAt, f.ChangedTime = r.Position, r.RecordedAt
		}
		if !slices.Contains(touched, id) {
			touched = append(touched, id)
		}
	}
	return touched
}

// apply folds one event and returns the id of the fact it touched.
func (s *Slot) apply(e Event, r Recorded) string {
	switch e := e.(type) {
	case FactProposed:
		if s.Find(e.Fact) != nil {
			return "" // a second proposal of one id cannot happen; the first stands
		}
		e.Sources = slices.Clone(e.Sources)
		s.Facts = append(s.Facts, &SlotFact{
			FactProposed: e, Status: StatusCandidate, Principal: r.Principal, Command: r.ID,
			ProposedAt: r.Position, RecordedAt: r.RecordedAt,
		})
		return e.Fact
	case FactDecided:
		return s.on(e.Fact, func(f *SlotFact) {
			f.Decision = e
			switch e.Decision {
			case DecisionReject:
				f.Status = StatusRejected
			case DecisionPromote:
				if e.Into != e.Fact {
					f.Status = StatusMerged
				}
			case DecisionReview, DecisionQuarantine:
			}
		})
	case FactPromoted:
		return s.on(e.Fact, func(f *SlotFact) {
			f.Status, f.Valid = StatusActive, e.Valid
			if len(e.Valid) == 0 {
				f.Status = StatusSuperseded
			}
		})
	case FactSuperseded:
		return s.on(e.Fact, func(f *SlotFact) {
			if f.Status == StatusActive && endsEarlier(e.Valid, f.Valid) { // else it lost a stretch on the way only
				f.Status = StatusSuperseded
			}
			f.Valid, f.SupersededBy = e.Valid, e.By
		})
	case FactCorroborated:
		return s.on(e.Fact, func(f *SlotFact) {
			for _, src := range e.Sources {
				if !slices.ContainsFunc(f.Sources, func(s SourceRef) bool { return s.Episode == src.Episode }) {
					f.Sources = append(f.Sources, src)
				}
			}
		})
	case FactRetracted:
		return s.on(e.Fact, func(f *SlotFact) { f.Status, f.Valid, f.Retraction = StatusRetracted, e.Valid, e.Content })
	case FactSourceLost:
		return s.on(e.Fact, func(f *SlotFact) {
			f.Sources = slices.DeleteFunc(f.Sources, func(src SourceRef) bool { return src.Episode == e.Source })
		})
	case FactForgotten:
		return s.on(e.Fact, func(f *SlotFact) {
			*f = SlotFact{
				// The trust stays, as it tells nothing of the value and no slot can be stored without.
				FactProposed: FactProposed{Fact: f.Fact, Subject: f.Subject, Class: f.Class, Trust: f.Trust},
				Status:       StatusDeleted, Erasure: e.Erasure, Command: f.Command,
				ProposedAt: f.ProposedAt, RecordedAt: f.RecordedAt,
			}
		})
	case FactReviewed:
		return s.on(e.Fact, func(f *SlotFact) {
			f.Reviews = append(f.Reviews, Review{FactReviewed: e, Reviewer: r.Principal, Position: r.Position, RecordedAt: r.RecordedAt})
		})
	case FactReopened:
		return s.on(e.Fact, func(f *SlotFact) {
			if f.withdraws(r.Principal) {
				f.Reviews = append(f.Reviews, Review{
					FactReviewed: FactReviewed{Fact: e.Fact, Verdict: VerdictWithdraw}, Reviewer: r.Principal, Position: r.Position, RecordedAt: r.RecordedAt,
				})
				return
			}
			f.Status, f.Valid, f.Decision, f.Reopened = StatusCandidate, nil, FactDecided{}, r.Position
		})
	case FactRestored:
		return s.on(e.Fact, func(f *SlotFact) {
			f.Valid, f.SupersededBy = e.Valid, e.By
			switch {
			case f.Status == StatusRetracted: // as it was before
			case e.By != "":
				f.Status = StatusSuperseded
			default:
				f.Status = StatusActive
			}
		})
	case EpisodeCaptured, EpisodeQuarantined, EpisodeDropped, SourceRevised, EpisodeForgotten, SubjectRegistered, SubjectForgotten,
		SubjectHeld, SubjectReleased, ConsentGranted, ConsentWithdrawn, SubjectExported,
		ErasureRequested, ErasureAdvanced, ValueSuppressed, SuppressionRemoved,
		VectorEmbedded, TraceRecalled, TraceUsed, TraceJudged, PolicyActivated:
	}
	return ""
}

// endsEarlier reports whether nothing is left of the end of what was.
func endsEarlier(left, was []Interval) bool {
	return len(left) == 0 || len(was) > 0 && !left[len(left)-1].To.Equal(was[len(was)-1].To)
}

// on changes the fact with the id. A tombstoned fact stays one, whatever
// follows it.
func (s *Slot) on(id string, change func(*SlotFact)) string {
	f := s.Find(id)
	if f == nil || f.Status == StatusDeleted {
		return ""
	}
	change(f)
	return id
}
