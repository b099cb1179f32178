package fold

import (
	"maps"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// Key names a record within its tenant.
type Key struct{ Tenant, ID string }

// State is everything that was folded. Its maps may be read freely; make one with [New].
type State struct {
	Episodes map[Key]*Episode
	// Facts are by their ids, tombstones not among them.
	Facts  map[Key]*Fact
	Traces map[Key]*Trace
	// Subjects, EpisodeTombs and FactTombs are the tombstones. The key of the first is a subject's id.
	Subjects, EpisodeTombs, FactTombs map[Key]Tombstone

	// Holds are the legal holds by subject and by name, with the position since which each is on.
	Holds map[Key]map[string]uint64
	// Sources are those with revisions.
	Sources map[Key]*events.SourceState

	slots map[Key]*slot
}

// Episode is an episode that is not forgotten.
type Episode struct {
	events.EpisodeCaptured
	ID         string
	Position   uint64
	RecordedAt time.Time
	Principal  string
}

// Fact is a fact that is not forgotten, with all that was known of it.
type Fact struct {
	events.SlotFact
	Slot      string
	Revisions []Revision
	// sourced is set once it had a source that existed.
	sourced bool
}

// Revision is what was known of a fact between two times of record; a zero To is open.
type Revision struct {
	Valid    []events.Interval
	Status   events.FactStatus
	From, To time.Time
	Position uint64
}

// Trace is a recalled answer.
type Trace struct {
	events.TraceRecalled
	Used       []string
	Judged     map[string]events.Judgement
	Position   uint64
	RecordedAt time.Time
	Principal  string
}

// Tombstone is what is left of a forgotten thing.
type Tombstone struct {
	Subject, Erasure string
	Position         uint64
	RecordedAt       time.Time
}

// slot is a slot's own state and the facts in it.
type slot struct {
	state   events.Slot
	subject string
}

// New returns the empty state.
func New() *State {
	return &State{
		Episodes: map[Key]*Episode{}, Facts: map[Key]*Fact{}, Traces: map[Key]*Trace{},
		Subjects: map[Key]Tombstone{}, EpisodeTombs: map[Key]Tombstone{}, FactTombs: map[Key]Tombstone{},
		Holds: map[Key]map[string]uint64{}, Sources: map[Key]*events.SourceState{}, slots: map[Key]*slot{},
	}
}

// Masked reports whether all sources of a fact that ever existed are forgotten.
func (s *State) Masked(tenant string, f *Fact) bool {
	if !f.sourced {
		return false
	}
	return !slices.ContainsFunc(f.Sources, func(r events.SourceRef) bool {
		return r.Subject != "" && !s.subjectGone(tenant, r.Subject) && !s.episodeGone(tenant, r.Episode, r.Subject)
	})
}

func (s *State) subjectGone(tenant, sid string) bool {
	_, gone := s.Subjects[Key{tenant, sid}]
	return gone
}

func (s *State) episodeGone(tenant, id, sid string) bool {
	t, gone := s.EpisodeTombs[Key{tenant, id}]
	return gone && t.Subject == sid
}

// Apply folds one commit.
func (s *State) Apply(r events.Recorded) {
	if r.Aggregate.Kind == events.KindFact {
		s.applySlot(r)
		return
	}
	if r.Aggregate.Kind == events.KindSource {
		k := Key{r.Aggregate.Tenant, r.Aggregate.ID}
		if s.Sources[k] == nil {
			s.Sources[k] = &events.SourceState{}
		}
		s.Sources[k].Apply(r)
		return
	}
	for _, e := range r.Events {
		s.apply(e, &r)
	}
}

func (s *State) apply(e events.Event, r *events.Recorded) {
	t, id := r.Aggregate.Tenant, r.Aggregate.ID
	switch e := e.(type) {
	case events.EpisodeCaptured:
		k := Key{t, id}
		_, dead := s.EpisodeTombs[k]
		if s.Episodes[k] != nil || dead || s.subjectGone(t, e.Subject) {
			return
		}
		s.Episodes[k] = &Episode{
			EpisodeCaptured: e, ID: id, Position: r.Position, RecordedAt: r.RecordedAt, Principal: r.Principal,
		}
	case events.EpisodeForgotten:
		if e.Subject == "" { // it was dropped in quarantine: it never was there
			return
		}
		if _, dead := s.EpisodeTombs[Key{t, id}]; dead || s.subjectGone(t, e.Subject) {
			return
		}
		delete(s.Episodes, Key{t, id})
		s.EpisodeTombs[Key{t, id}] = tombstone(e.Subject, e.Erasure, r)
	case events.SubjectForgotten:
		s.forgetSubject(t, id, e.Erasure, r)
	case events.SubjectHeld:
		s.hold(Key{t, id}, e.Hold, r.Position)
	case events.SubjectReleased:
		s.lift(Key{t, id}, e.Hold)
	case events.TraceRecalled:
		if k := (Key{t, e.Trace}); s.Traces[k] == nil && (e.Subject == "" || !s.subjectGone(t, e.Subject)) {
			s.Traces[k] = &Trace{
				TraceRecalled: e, Position: r.Position, RecordedAt: r.RecordedAt, Principal: r.Principal,
				Judged: map[string]events.Judgement{},
			}
		}
	case events.TraceUsed:
		tr := s.Traces[Key{t, e.Trace}]
		if tr == nil {
			return // never was, or is forgotten
		}
		for _, id := range e.Memories {
			if !slices.Contains(tr.Used, id) {
				tr.Used = append(tr.Used, id)
			}
		}
	case events.TraceJudged:
		if tr := s.Traces[Key{t, e.Trace}]; tr != nil {
			tr.Judged[e.Memory] = e.Judgement
		}
	case events.EpisodeQuarantined, events.EpisodeDropped, // nothing of them is shown
		events.SourceRevised, events.FactReviewed, events.FactReopened, events.FactRestored,
		events.FactProposed, events.FactDecided, events.FactPromoted, events.FactSuperseded, events.FactCorroborated,
		events.FactRetracted, events.FactSourceLost, events.FactForgotten, events.SubjectRegistered,
		events.ConsentGranted, events.ConsentWithdrawn,
		events.SubjectExported, events.ValueSuppressed, events.SuppressionRemoved,
		events.ErasureRequested, events.ErasureAdvanced, events.VectorEmbedded, events.PolicyActivated:
	}
}

func tombstone(sid, erasure string, r *events.Recorded) Tombstone {
	return Tombstone{Subject: sid, Erasure: erasure, Position: r.Position, RecordedAt: r.RecordedAt}
}

func (s *State) hold(subject Key, name string, position uint64) {
	if s.Holds[subject] == nil {
		s.Holds[subject] = map[string]uint64{}
	}
	if s.Holds[subject][name] == 0 {
		s.Holds[subject][name] = position
	}
}

func (s *State) lift(subject Key, name string) {
	delete(s.Holds[subject], name)
	if len(s.Holds[subject]) == 0 {
		delete(s.Holds, subject)
	}
}

func (s *State) forgetSubject(tenant, sid, erasure string, r *events.Recorded) {
	if s.subjectGone(tenant, sid) {
		return
	}
	s.Subjects[Key{tenant, sid}] = tombstone(sid, erasure, r)
	of := func(k Key, subject string) bool { return k.Tenant == tenant && subject == sid }
	maps.DeleteFunc(s.Episodes, func(k Key, e *Episode) bool { return of(k, e.Subject) })
	maps.DeleteFunc(s.Facts, func(k Key, f *Fact) bool { return of(k, f.Subject) })
	maps.DeleteFunc(s.slots, func(k Key, sl *slot) bool { return of(k, sl.subject) })
	maps.DeleteFunc(s.Traces, func(k Key, tr *Trace) bool { return of(k, tr.Subject) })
	maps.DeleteFunc(s.EpisodeTombs, func(k Key, t Tombstone) bool { return of(k, t.Subject) })
	maps.DeleteFunc(s.FactTombs, func(k Key, t Tombstone) bool { return of(k, t.Subject) })
}

// applySlot folds a commit of a slot by the state that deciders use, and keeps what that state forgets: the revisions.
func (s *State) applySlot(r events.Recorded) {
	t, k := r.Aggregate.Tenant, Key{r.Aggregate.Tenant, r.Aggregate.ID}
	sl := s.slots[k]
	if sl == nil {
		sl = &slot{}
	}
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.FactProposed:
			if sl.subject == "" {
				sl.subject = e.Subject
			}
		case events.FactForgotten:
			if sl.subject == "" && !s.subjectGone(t, e.Subject) {
				s.bury(t, e, &r)
			}
		default:
		}
	}
	if sl.subject == "" || s.subjectGone(t, sl.subject) {
		return
	}
	s.slots[k] = sl
	for _, e := range r.Events {
		if e, ok := e.(events.FactForgotten); ok {
			s.bury(t, e, &r)
			sl.state.Facts = slices.DeleteFunc(sl.state.Facts, func(f *events.SlotFact) bool { return f.Fact == e.Fact })
		}
	}
	live := r
	live.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e events.Event) bool {
		if p, ok := e.(events.FactProposed); ok {
			_, dead := s.FactTombs[Key{t, p.Fact}]
			return dead
		}
		return false
	})
	for _, id := range sl.state.Apply(live) {
		s.touch(t, r.Aggregate.ID, sl.state.Find(id), &r)
	}
}

func (s *State) bury(tenant string, e events.FactForgotten, r *events.Recorded) {
	k := Key{tenant, e.Fact}
	delete(s.Facts, k)
	if _, dead := s.FactTombs[k]; !dead {
		s.FactTombs[k] = tombstone(e.Subject, e.Erasure, r)
	}
}

// touch takes over what a commit left of a fact.
func (s *State) touch(tenant, slotID string, sf *events.SlotFact, r *events.Recorded) {
	if sf == nil || sf.Status == events.StatusDeleted {
		return
	}
	k := Key{tenant, sf.Fact}
	f := s.Facts[k]
	if f == nil {
		f = &Fact{Slot: slotID}
		s.Facts[k] = f
	}
	f.SlotFact = *sf
	f.Sources = slices.Clone(sf.Sources)
	f.sourced = f.sourced || slices.ContainsFunc(f.Sources, func(ref events.SourceRef) bool { return ref.Subject != "" })
	if n := len(f.Revisions); n > 0 {
		last := &f.Revisions[n-1]
		if last.Status == sf.Status && sameIntervals(last.Valid, sf.Valid) {
			return
		}
		last.To = r.RecordedAt
	}
	f.Revisions = append(f.Revisions, Revision{
		Valid: sf.Valid, Status: sf.Status, From: r.RecordedAt, Position: r.Position,
	})
}

func sameIntervals(a, b []events.Interval) bool {
	return slices.EqualFunc(a, b, func(x, y events.Interval) bool { return x.From.Equal(y.From) && x.To.Equal(y.To) })
}
