package events

import (
	"slices"
	"time"
)

// Level is how far an erasure has come.
type Level string

// The levels, in the order in which they are reached. LevelHeld stands beside
// the order: a legal hold keeps the bytes of what is denied, and the erasure goes
// on from there when the hold is lifted.
const (
	// LevelDenied: the tombstone is in the log and in the ledger, and no serving
	// view shows the value.
	LevelDenied Level = "denied"
	// LevelHeld: denied, and kept for a legal hold.
	LevelHeld Level = "held"
	// LevelCascaded: what was derived from it alone has its tombstone too.
	LevelCascaded Level = "cascaded"
	// LevelShredded: the keys are destroyed and no cache has them.
	LevelShredded Level = "shredded"
	// LevelPurged: no file of the node holds the bytes, the vector or the terms.
	LevelPurged Level = "purged"
	// LevelBackupsDead: the root key that older copies of the keys were wrapped
	// under is destroyed.
	LevelBackupsDead Level = "backups_dead"
)

// Levels are the levels in the order in which they are reached.
func Levels() []Level {
	return []Level{LevelDenied, LevelHeld, LevelCascaded, LevelShredded, LevelPurged, LevelBackupsDead}
}

// AtLeast reports whether l has been reached when l2 is what was asked for.
func (l Level) AtLeast(l2 Level) bool {
	return slices.Index(Levels(), l) >= slices.Index(Levels(), l2)
}

// Cause is why something is erased.
type Cause string

// The causes.
const (
	CauseRequest   Cause = "request"
	CauseConsent   Cause = "consent"   // consent was withdrawn
	CauseRetention Cause = "retention" // its time to be kept is over
	CauseExpiry    Cause = "expiry"    // a fact reached its own end
)

// ErasureRequested begins the account of an erasure. The aggregate's id is the
// erasure's. It is appended beside the tombstones, which are what erases.
type ErasureRequested struct {
	Cause Cause `json:"cause"`
	// Scope is what was named: "record", "filter", "source", "subject",
	// "session" or "category".
	Scope string `json:"scope"`
	// Subject is the id of the subject that is forgotten as a whole, or of which
	// a category is.
	Subject string `json:"subject,omitempty"`
	// Matched counts the records that were asked for.
	Matched int `json:"matched"`
	// Tombstone is the position of the last tombstone of what was asked for.
	Tombstone uint64 `json:"tombstone"`
}

// ErasureAdvanced says how far an erasure has come.
type ErasureAdvanced struct {
	Level Level `json:"level"`
	// Stores are the stores of which something changed; others stay as they were.
	Stores []StoreProgress `json:"stores,omitempty"`
	// Late is set where the count of what came behind the tombstone has grown.
	Late *LateRecords `json:"late,omitempty"`
}

// LateRecords are the records of a subject that was forgotten as a whole whose
// commits came into the log behind its tombstone: they were acknowledged while the
// forget was under way. They are not among those that it matched.
type LateRecords struct {
	// Records counts all there have been.
	Records int `json:"records"`
	// UpTo is the position up to which they are counted.
	UpTo uint64 `json:"up_to"`
}

// StoreProgress is the cleanup of one store.
type StoreProgress struct {
	// Store names it: "log", "keys", "facts", "memories", "traces", "quarantine",
	// "backups".
	Store string `json:"store"`
	// Planned, Done and Failed count what had to be removed from it, what was, and
	// what could not be yet and will be tried again.
	Planned int `json:"planned"`
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	// PendingUntil is when the rest is due, zero if nothing is pending.
	PendingUntil time.Time `json:"pending_until,omitzero"`
}

// ErasureState is what the events of an erasure mean, folded. The zero value is
// an erasure that nothing is known of.
type ErasureState struct {
	ErasureRequested

	// Principal is the token of who asked.
	Principal string
	Level     Level
	// RequestedAt is the log's time of the request, Reached that of each level.
	RequestedAt time.Time
	Reached     map[Level]time.Time
	// Positions are those of the commits in which a level was reached.
	Positions map[Level]uint64
	// Stores are in the order of their names.
	Stores []StoreProgress
	// Late are the records that came behind the tombstone, as far as they are
	// counted.
	Late LateRecords
	// Position is that of the last commit applied.
	Position uint64
}

// isEvent keeps ErasureState out of the union of events, which the event that it
// embeds would bring it into.
func (*ErasureState) isEvent(struct{}) {} //nolint:unused // it is there to hide the promoted one

// Known reports whether the erasure has begun.
func (s *ErasureState) Known() bool { return s.Position != 0 }

// Apply folds one commit of the erasure. A commit at or below s.Position was
// applied before and changes nothing. A level is never lost again, but a hold is.
func (s *ErasureState) Apply(r Recorded) {
	if r.Position <= s.Position {
		return
	}
	s.Position = r.Position
	for _, e := range r.Events {
		switch e := e.(type) {
		case ErasureRequested:
			if s.RequestedAt.IsZero() {
				s.ErasureRequested, s.Principal, s.RequestedAt = e, r.Principal, r.RecordedAt
			}
		case ErasureAdvanced:
			s.advance(e, r)
		default:
		}
	}
}

func (s *ErasureState) advance(e ErasureAdvanced, r Recorded) {
	if s.Reached == nil {
		s.Reached, s.Positions = map[Level]time.Time{}, map[Level]uint64{}
	}
	if s.Level == "" || s.Level == LevelHeld || e.Level.AtLeast(s.Level) {
		s.Level = e.Level
	}
	if s.Reached[e.Level].IsZero() {
		s.Reached[e.Level], s.Positions[e.Level] = r.RecordedAt, r.Position
	}
	if e.Late != nil && e.Late.UpTo > s.Late.UpTo {
		s.Late = *e.Late
	}
	for _, p := range e.Stores {
		i, found := slices.BinarySearchFunc(s.Stores, p.Store, func(have StoreProgress, name string) int {
			switch {
			case have.Store < name:
				return -1
			case have.Store > name:
				return 1
			}
			return 0
		})
		if found {
			s.Stores[i] = p
		} else {
			s.Stores = slices.Insert(s.Stores, i, p)
		}
	}
}
