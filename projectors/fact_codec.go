package projectors

import (
	"time"

	"github.com/annals-memory/annals/events"
)

// storedFact is a fact as its row holds it, without what the row's key says.
type storedFact struct {
	fact events.SlotFact
	// revision is the position of the revision that is open, since is when it was recorded.
	revision uint64
	since    time.Time
	// sourced is set once the fact had a source that existed, masked while all of those are forgotten.
	sourced, masked bool
}

const (
	flagSourced = 1 << iota
	flagMasked
)

func (s *storedFact) encode(e *encoder) {
	var flags uint64
	if s.sourced {
		flags |= flagSourced
	}
	if s.masked {
		flags |= flagMasked
	}
	e.uint(flags)
	e.uint(s.revision)
	e.time(s.since)
	encodeFact(e, &s.fact)
}

func (s *storedFact) decode(d *decoder) {
	flags := d.uint()
	s.sourced, s.masked = flags&flagSourced != 0, flags&flagMasked != 0
	s.revision = d.uint()
	s.since = d.time()
	decodeFact(d, &s.fact)
}

func encodeFact(e *encoder, f *events.SlotFact) {
	e.string(f.Fact)
	e.string(f.Subject)
	e.string(f.Class)
	e.string(f.Predicate)
	e.string(f.Scope)
	e.string(f.Category)
	e.float(f.Confidence)
	e.uint(uint64(f.Trust))
	e.time(f.ObservedAt)
	e.time(f.ValidFrom)
	e.time(f.ValidTo)
	e.time(f.ExpiresAt)
	encodeSources(e, f.Sources)
	e.strings(f.Traces)
	encodeGuard(e, &f.Guard)
	e.string(f.Edits)
	e.bytes(f.Content)
	e.string(string(f.Status))
	encodeDecision(e, &f.Decision)
	encodeIntervals(e, f.Valid)
	e.string(f.SupersededBy)
	e.string(f.Principal)
	e.string(f.Command)
	e.uint(f.ProposedAt)
	e.time(f.RecordedAt)
	e.uint(f.ChangedAt)
	e.time(f.ChangedTime)
	encodeReviews(e, f.Reviews)
	e.uint(f.Reopened)
	e.bytes(f.Retraction)
	e.string(f.Erasure)
}

func decodeFact(d *decoder, f *events.SlotFact) {
	f.Fact = d.string()
	f.Subject = d.string()
	f.Class = d.string()
	f.Predicate = d.string()
	f.Scope = d.string()
	f.Category = d.string()
	f.Confidence = d.float()
	f.Trust = events.Trust(d.uint()) //nolint:gosec // written from a Trust.
	f.ObservedAt = d.time()
	f.ValidFrom = d.time()
	f.ValidTo = d.time()
	f.ExpiresAt = d.time()
	f.Sources = decodeSources(d)
	f.Traces = d.strings()
	decodeGuard(d, &f.Guard)
	f.Edits = d.string()
	f.Content = d.bytes()
	f.Status = events.FactStatus(d.string())
	decodeDecision(d, &f.Decision)
	f.Valid = decodeIntervals(d)
	f.SupersededBy = d.string()
	f.Principal = d.string()
	f.Command = d.string()
	f.ProposedAt = d.uint()
	f.RecordedAt = d.time()
	f.ChangedAt = d.uint()
	f.ChangedTime = d.time()
	f.Reviews = decodeReviews(d)
	f.Reopened = d.uint()
	f.Retraction = d.bytes()
	f.Erasure = d.string()
}

func encodeDecision(e *encoder, v *events.FactDecided) {
	e.string(v.Fact)
	e.string(string(v.Decision))
	e.uint(uint64(len(v.Gates)))
	for _, g := range v.Gates {
		e.string(g.Gate)
		e.string(string(g.Outcome))
		e.string(g.Reason)
	}
	e.string(v.Policy.Name)
	e.int(int64(v.Policy.Version))
	e.string(v.Policy.Hash)
	e.string(v.Into)
	encodeBasis(e, &v.Basis)
}

func decodeDecision(d *decoder, v *events.FactDecided) {
	v.Fact = d.string()
	v.Decision = events.Decision(d.string())
	if n := d.count(); n > 0 {
		v.Gates = make([]events.Gate, n)
		for i := range v.Gates {
			v.Gates[i] = events.Gate{Gate: d.string(), Outcome: events.Decision(d.string()), Reason: d.string()}
		}
	}
	v.Policy.Name = d.string()
	v.Policy.Version = int(d.int())
	v.Policy.Hash = d.string()
	v.Into = d.string()
	decodeBasis(d, &v.Basis)
}

func encodeIntervals(e *encoder, list []events.Interval) {
	e.uint(uint64(len(list)))
	for _, iv := range list {
		e.time(iv.From)
		e.time(iv.To)
	}
}

func decodeIntervals(d *decoder) []events.Interval {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]events.Interval, n)
	for i := range list {
		list[i] = events.Interval{From: d.time(), To: d.time()}
	}
	return list
}

// encodeRevision leaves out the position, which is in the key.
func encodeRevision(r *Revision) []byte {
	var e encoder
	e.string(r.Fact)
	e.string(string(r.Status))
	encodeIntervals(&e, r.Valid)
	e.time(r.RecordedFrom)
	e.time(r.RecordedTo)
	return e.b
}

func decodeRevision(value []byte, position uint64) (Revision, error) {
	d := decoder{b: value}
	r := Revision{Fact: d.string(), Status: events.FactStatus(d.string()), Position: position}
	r.Valid = decodeIntervals(&d)
	r.RecordedFrom = d.time()
	r.RecordedTo = d.time()
	return r, d.err()
}
