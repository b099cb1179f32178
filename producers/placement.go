package producers

import (
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// Claim is a candidate as far as its place in the slot goes.
type Claim struct {
	// From is since when it claims to be true: valid_from, or observed_at.
	From time.Time
	// To is until when, exclusive; zero is until something later begins.
	To         time.Time
	ObservedAt time.Time
	Trust      events.Trust
	// Equal says whether the candidate has the value of the fact with the id.
	Equal func(fact string) bool
}

// The reasons of the conflict gate.
const (
	ReasonNoConflict  = "no_conflict"
	ReasonSupersedes  = "supersedes"
	ReasonHistory     = "history_only"
	ReasonEqual       = "equal_value"
	ReasonLowerTrust  = "lower_trust"
	ReasonUndecidable = "undecidable"
	// ReasonStaleVersion: the proposal was to supersede another fact than the one
	// that is there.
	ReasonStaleVersion = "stale_version"
)

// Placement is where a candidate goes in its slot.
type Placement struct {
	// Reason says what was found; ReasonLowerTrust and ReasonUndecidable mean
	// that only a reviewer can place it.
	Reason string
	// Into is the fact of equal value that the candidate is added to, or "".
	Into string
	// Valid is when the candidate is true: disjoint, ascending.
	Valid []events.Interval
	// Changed are the facts that lose time to it, in the order of the slot,
	// with what they keep.
	Changed []Change
}

// needsReview says that only a reviewer can place it.
func (p *Placement) needsReview() bool {
	return p.Reason == ReasonLowerTrust || p.Reason == ReasonUndecidable
}

// Change is what is left of a fact.
type Change struct {
	Fact  string
	Valid []events.Interval
}

// Place computes the place of a candidate. It is pure. DESIGN.md has the rules
// with their reasons; in short:
//
// Every fact, and every candidate of equal value that was added to it, is an
// anchor: a claim from some instant on. At any instant the fact is true whose
// anchor is the last to begin. So an open claim ends where the next open anchor
// begins, leaves out the stretches that a later anchor bounds on both sides,
// and takes the rest of its time from what began before it; a claim with an
// end takes its own stretch. From a fact that was observed later it takes only
// the time before that observation, and nothing if both begin together. From a
// fact of higher trust it takes nothing without a review.
func Place(slot *events.Slot, c Claim) Placement {
	segments := segmentsOf(slot, c)
	holder := holderAt(segments, c.From)
	covered := holder != nil && c.Equal(holder.fact.Fact)
	if covered && c.To.IsZero() {
		return Placement{Reason: ReasonEqual, Into: holder.fact.Fact}
	}

	reach, ok := c.reach(segments)
	if !ok {
		return Placement{Reason: ReasonHistory}
	}
	valid, review := c.take(segments, reach)
	if review != "" {
		return Placement{Reason: review}
	}
	if valid = c.stayRetracted(slot, valid); len(valid) == 0 {
		if covered {
			return Placement{Reason: ReasonEqual, Into: holder.fact.Fact}
		}
		return Placement{Reason: ReasonHistory}
	}
	p := Placement{Reason: ReasonNoConflict, Valid: valid, Changed: changes(slot, valid)}
	if len(p.Changed) > 0 {
		p.Reason = ReasonSupersedes
	}
	return p
}

// reach is the time that the claim is about, before others are asked: for an
// open claim up to where the next open one begins. There is none if an open
// claim began together with it and was observed later.
func (c Claim) reach(segments []segment) (events.Interval, bool) {
	r := events.Interval{From: c.From, To: c.To}
	if !c.To.IsZero() {
		return r, true
	}
	for _, s := range segments {
		for _, a := range s.anchors {
			switch {
			case !a.to.IsZero() || a.from.Before(c.From):
			case a.from.After(c.From):
				if r.To.IsZero() || a.from.Before(r.To) {
					r.To = a.from
				}
			case a.observed.After(c.ObservedAt):
				return events.Interval{}, false
			}
		}
	}
	return r, true
}

// take is what the claim gets of its reach: what nobody holds, and what it
// takes from others; or the reason why it needs a review.
func (c Claim) take(segments []segment, reach events.Interval) (valid []events.Interval, review string) {
	valid = []events.Interval{reach} // minus what others keep
	for _, s := range segments {
		part, ok := intersect(reach, s.Interval)
		if !ok {
			continue
		}
		keeps := part
		if c.beats(s) {
			keeps = events.Interval{}
			if s.observed.After(c.ObservedAt) {
				keeps, _ = intersect(part, events.Interval{From: s.observed})
			}
		}
		if keeps != part {
			switch {
			case c.Trust < s.trust:
				return nil, ReasonLowerTrust
			case c.Trust == s.trust && s.start.Equal(c.From) && s.observed.Equal(c.ObservedAt):
				return nil, ReasonUndecidable
			}
		}
		if !keeps.From.IsZero() {
			valid = subtract(valid, keeps)
		}
	}
	return valid, ""
}

// beats says whether the claim takes anything at all from the segment: not if
// both say the same, not if the segment is a bounded stretch that began after
// this open claim, and not if both begin together and it was observed later.
func (c Claim) beats(s segment) bool {
	switch {
	case c.Equal(s.fact.Fact):
		return false
	case c.To.IsZero() && s.start.After(c.From):
		return false
	case s.start.Equal(c.From) && s.observed.After(c.ObservedAt):
		return false
	}
	return true
}

// stayRetracted keeps an old observation from bringing back what was retracted
// since: a claim of equal value that was observed before a retraction is not
// true after it.
func (c Claim) stayRetracted(slot *events.Slot, valid []events.Interval) []events.Interval {
	for _, f := range slot.Facts {
		if f.Status != events.StatusRetracted || !c.Equal(f.Fact) {
			continue
		}
		at := f.ChangedTime
		if n := len(f.Valid); n > 0 {
			at = f.Valid[n-1].To
		}
		if at.After(c.ObservedAt) {
			valid = subtract(valid, events.Interval{From: at})
		}
	}
	return valid
}

// changes are the facts that lose what the candidate gets.
func changes(slot *events.Slot, valid []events.Interval) []Change {
	var changed []Change
	for _, f := range slot.Facts {
		left := f.Valid
		for _, iv := range valid {
			left = subtract(left, iv)
		}
		if !slices.EqualFunc(left, f.Valid, sameInterval) {
			changed = append(changed, Change{Fact: f.Fact, Valid: left})
		}
	}
	return changed
}

// anchor is one claim that a fact rests on.
type anchor struct {
	from, to, observed time.Time
}

func anchorOf(f *events.SlotFact) anchor {
	a := anchor{from: f.ValidFrom, to: f.ValidTo, observed: f.ObservedAt}
	if a.from.IsZero() {
		a.from = f.ObservedAt
	}
	return a
}

// segment is a stretch in which one fact is true, on the same anchors all
// along.
type segment struct {
	events.Interval
	fact    *events.SlotFact
	anchors []anchor
	// start is where the last of the anchors begins, observed when the latest
	// of them was observed.
	start, observed time.Time
	trust           events.Trust
}

// segmentsOf cuts the slot's facts into segments. An added candidate of lower
// trust than the claim's is no anchor against it.
func segmentsOf(slot *events.Slot, c Claim) []segment {
	added := make(map[string][]anchor)
	for _, f := range slot.Facts {
		if f.Status == events.StatusMerged && f.Trust >= c.Trust {
			added[f.Decision.Into] = append(added[f.Decision.Into], anchorOf(f))
		}
	}
	var segments []segment
	for _, f := range slot.Facts {
		anchors := append([]anchor{anchorOf(f)}, added[f.Fact]...)
		for _, iv := range f.Valid {
			for _, part := range cut(iv, anchors) {
				segments = append(segments, newSegment(f, part, anchors))
			}
		}
	}
	return segments
}

// cut splits an interval where an anchor begins or ends in it.
func cut(iv events.Interval, anchors []anchor) []events.Interval {
	var at []time.Time
	for _, a := range anchors {
		for _, t := range []time.Time{a.from, a.to} {
			if !t.IsZero() && t.After(iv.From) && iv.Contains(t) {
				at = append(at, t)
			}
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	at = slices.CompactFunc(at, time.Time.Equal)
	parts := make([]events.Interval, 0, len(at)+1)
	for _, t := range at {
		parts = append(parts, events.Interval{From: iv.From, To: t})
		iv.From = t
	}
	return append(parts, iv)
}

func newSegment(f *events.SlotFact, iv events.Interval, anchors []anchor) segment {
	own := anchors[0] // a fact rests on its own claim, whatever its bounds
	s := segment{Interval: iv, fact: f, trust: f.Trust, anchors: anchors[:1:1], start: own.from, observed: own.observed}
	for _, a := range anchors[1:] {
		if !(events.Interval{From: a.from, To: a.to}).Contains(iv.From) {
			continue
		}
		s.anchors = append(s.anchors, a)
		if a.from.After(s.start) {
			s.start = a.from
		}
		if a.observed.After(s.observed) {
			s.observed = a.observed
		}
	}
	return s
}

func holderAt(segments []segment, t time.Time) *segment {
	for i := range segments {
		if segments[i].Contains(t) {
			return &segments[i]
		}
	}
	return nil
}
