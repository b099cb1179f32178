package projectors

import (
	"context"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
)

// slotFold folds fact slots and the tombstones that reach facts. The facts and the memories both need it; each adds what
// its reads need through a slotUser.
type slotFold struct {
	e     *engine
	cache *slotCache
	user  slotUser
	// readRows asks for revisions, the current facts of a slot, the review queue, and the places of the facts' contents in
	// the log; without it there are rows that lead from an erasure to its tombstones.
	readRows bool
}

// slotUser is told what happens to facts, so that it can keep rows of its own.
type slotUser interface {
	// check is called before a commit of a slot is folded, and may refuse it with a *parkError.
	check(ctx context.Context, it *item, s *slotState, dead []deadFact) error
	// changed is called after a fact was written.
	changed(ctx context.Context, s *slotState, fs *factState, position uint64) error
	// dropped is called after a fact was removed for its tombstone.
	dropped(ctx context.Context, tenant, sid, fact string) error
	// episodeGone removes an episode for its tombstone.
	episodeGone(ctx context.Context, tenant, sid, id string) error
}

func newSlotFold(e *engine, user slotUser, readRows bool) *slotFold {
	return &slotFold{e: e, cache: newSlotCache(), user: user, readRows: readRows}
}

// fold folds a commit of a slot.
func (f *slotFold) fold(ctx context.Context, it *item) error {
	r := &it.rec
	s, err := f.slot(r.Aggregate.Tenant, r.Aggregate.ID)
	if err != nil {
		return err
	}
	sid, err := subjectOf(s, r)
	if err != nil {
		return err
	}
	if sid == "" {
		return f.noteOrphans(r)
	}
	if dead, err := f.e.tombs.subject(r.Aggregate.Tenant, sid); err != nil {
		return err
	} else if dead {
		return f.note(r, sid)
	}
	dead, err := f.forgotten(sid, r)
	if err != nil {
		return err
	}
	if err := f.user.check(ctx, it, s, dead); err != nil {
		return err
	}
	if err := f.note(r, sid); err != nil {
		return err
	}
	for _, t := range dead {
		if t.event {
			if err := f.dropFact(ctx, s, sid, t.id, t.erasure, r); err != nil {
				return err
			}
		}
	}
	return f.fill(ctx, s, sid, r, dead)
}

// fill applies what is left of a commit when the events about dead facts are taken out.
func (f *slotFold) fill(ctx context.Context, s *slotState, sid string, r *events.Recorded, dead []deadFact) error {
	live := *r
	if len(dead) > 0 {
		live.Events = slices.DeleteFunc(slices.Clone(r.Events), func(e events.Event) bool {
			return isDead(dead, factOf(e))
		})
	}
	lost := lostSources(s, &live)
	s.slot.Position = 0 // what was passed is the engine's to know; a retry comes with an older position.
	touched := s.slot.Apply(live)
	if err := f.adopt(s, sid, r.Position); err != nil {
		return err
	}
	if err := f.loseSources(s, lost); err != nil {
		return err
	}
	for _, id := range touched {
		fs := s.find(id)
		if fs == nil {
			continue
		}
		if err := f.refresh(ctx, s, fs, r); err != nil {
			return err
		}
	}
	if len(touched) == 0 && len(dead) == 0 {
		return nil
	}
	f.cache.resize(s)
	return f.writeNow(s)
}

// refresh writes everything about a fact that was touched.
func (f *slotFold) refresh(ctx context.Context, s *slotState, fs *factState, r *events.Recorded) error {
	if err := f.addSources(s, fs); err != nil {
		return err
	}
	if _, err := f.mask(s, fs); err != nil {
		return err
	}
	if err := f.writeFact(s, fs, r.Position, r.RecordedAt); err != nil {
		return err
	}
	if err := f.writeReview(s, fs); err != nil {
		return err
	}
	return f.user.changed(ctx, s, fs, r.Position)
}

// deadFact is a fact that a commit may not bring back, or, if event is set, that it ends.
type deadFact struct {
	id, erasure string
	event       bool
}

func isDead(dead []deadFact, id string) bool {
	return slices.ContainsFunc(dead, func(d deadFact) bool { return d.id == id })
}

// forgotten lists the facts of a commit that have a tombstone, or get theirs in it.
func (f *slotFold) forgotten(sid string, r *events.Recorded) ([]deadFact, error) {
	var dead []deadFact
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.FactForgotten:
			dead = append(dead, deadFact{id: e.Fact, erasure: e.Erasure, event: true})
		case events.FactProposed:
			gone, err := f.e.tombs.record(r.Aggregate.Tenant, sid, kindFact, e.Fact)
			if err != nil {
				return nil, err
			}
			if gone {
				dead = append(dead, deadFact{id: e.Fact})
			}
		default:
		}
	}
	return dead, nil
}

// subjectOf is the subject of a slot, "" if neither the slot nor the commit tells. It refuses a commit that is about another
// subject than the slot is.
func subjectOf(s *slotState, r *events.Recorded) (string, error) {
	sid := s.sid
	for _, e := range r.Events {
		var subject string
		switch e := e.(type) {
		case events.FactProposed:
			subject = e.Subject
		case events.FactForgotten:
			subject = e.Subject
		default:
			continue
		}
		if sid == "" {
			sid = subject
		}
		if sid != subject {
			return "", park(causeForeign)
		}
	}
	return sid, nil
}

// factOf is the fact that an event of a slot is about.
func factOf(e events.Event) string {
	switch e := e.(type) {
	case events.FactProposed:
		return e.Fact
	case events.FactDecided:
		return e.Fact
	case events.FactReviewed:
		return e.Fact
	case events.FactReopened:
		return e.Fact
	case events.FactRestored:
		return e.Fact
	case events.FactPromoted:
		return e.Fact
	case events.FactSuperseded:
		return e.Fact
	case events.FactCorroborated:
		return e.Fact
	case events.FactRetracted:
		return e.Fact
	case events.FactSourceLost:
		return e.Fact
	case events.FactForgotten:
		return e.Fact
	case events.EpisodeCaptured, events.EpisodeQuarantined, events.EpisodeDropped, events.EpisodeForgotten,
		events.SourceRevised, events.SubjectRegistered, events.SubjectForgotten,
		events.SubjectHeld, events.SubjectReleased, events.ConsentGranted, events.ConsentWithdrawn,
		events.SubjectExported, events.ValueSuppressed, events.SuppressionRemoved,
		events.ErasureRequested, events.ErasureAdvanced, events.VectorEmbedded, events.TraceRecalled, events.TraceUsed, events.TraceJudged, events.PolicyActivated:
	}
	return ""
}

// adopt gives the facts that a commit added their places.
func (f *slotFold) adopt(s *slotState, sid string, position uint64) error {
	if len(s.facts) == len(s.slot.Facts) {
		return nil
	}
	t := s.key.tenant
	if s.sid == "" {
		s.sid = sid
		if err := f.e.set(slotRowKey(t, s.key.slot), []byte(sid)); err != nil {
			return err
		}
	}
	for i := 0; len(s.facts) < len(s.slot.Facts); i++ {
		fact := s.slot.Facts[len(s.facts)]
		o := order{position: position, index: uint16(i)}
		s.facts = append(s.facts, &factState{fact: fact, order: o})
		place := factPlace{sid: sid, slot: s.key.slot, order: o}
		if err := f.e.set(idKey(t, kindFact, fact.Fact), place.encode()); err != nil {
			return err
		}
	}
	return nil
}

// lostSource is a source that a commit takes from a fact.
type lostSource struct {
	fact *factState
	ref  events.SourceRef
}

func lostSources(s *slotState, r *events.Recorded) []lostSource {
	var lost []lostSource
	for _, e := range r.Events {
		ev, ok := e.(events.FactSourceLost)
		if !ok {
			continue
		}
		fs := s.find(ev.Fact)
		if fs == nil {
			continue
		}
		for _, ref := range fs.fact.Sources {
			if ref.Episode == ev.Source {
				lost = append(lost, lostSource{fact: fs, ref: ref})
			}
		}
	}
	return lost
}

func (f *slotFold) loseSources(s *slotState, lost []lostSource) error {
	for _, l := range lost {
		if err := f.removeSource(s, l.fact, l.ref, l.fact.fact.Sources); err != nil {
			return err
		}
	}
	return nil
}

// removeSource removes the lineage of a source of which none like it is among those that remain.
func (f *slotFold) removeSource(s *slotState, fs *factState, ref events.SourceRef, remain []events.SourceRef) error {
	if !slices.ContainsFunc(remain, func(r events.SourceRef) bool { return r.Episode == ref.Episode }) {
		if err := f.e.unset(fromEpisodeKey(s.key.tenant, ref.Episode, s.key.slot, fs.order)); err != nil {
			return err
		}
	}
	if ref.Subject == "" || slices.ContainsFunc(remain, func(r events.SourceRef) bool { return r.Subject == ref.Subject }) {
		return nil
	}
	return f.e.unset(fromSubjectKey(s.key.tenant, ref.Subject, s.key.slot, fs.order))
}

func (f *slotFold) addSources(s *slotState, fs *factState) error {
	if slices.Equal(fs.linked, fs.fact.Sources) {
		return nil
	}
	fs.linked = slices.Clone(fs.fact.Sources)
	for _, ref := range fs.fact.Sources {
		k := fromEpisodeKey(s.key.tenant, ref.Episode, s.key.slot, fs.order)
		if err := f.e.set(k, []byte(s.sid)); err != nil {
			return err
		}
		if ref.Subject == "" {
			continue
		}
		fs.sourced = true
		if ref.Subject == s.sid { // it goes with its subject
			continue
		}
		k = fromSubjectKey(s.key.tenant, ref.Subject, s.key.slot, fs.order)
		if err := f.e.set(k, []byte(s.sid)); err != nil {
			return err
		}
	}
	return nil
}

// mask recomputes whether all sources of a fact that ever existed are forgotten, and tells whether that changed.
func (f *slotFold) mask(s *slotState, fs *factState) (changed bool, err error) {
	masked := fs.sourced
	for _, ref := range fs.fact.Sources {
		if ref.Subject == "" {
			continue
		}
		gone, err := f.e.tombs.gone(s.key.tenant, ref.Subject, kindEpisode, ref.Episode)
		if err != nil {
			return false, err
		}
		if !gone {
			masked = false
			break
		}
	}
	changed = masked != fs.masked
	fs.masked = masked
	return changed, nil
}

// writeNow stores what a current read needs of a slot: the facts that are true at some time after its last change.
func (f *slotFold) writeNow(s *slotState) error {
	if !f.readRows || s.sid == "" {
		return nil
	}
	var since time.Time
	for _, fs := range s.facts {
		if fs.fact.ChangedTime.After(since) {
			since = fs.fact.ChangedTime
		}
	}
	e := encoder{b: make([]byte, 0, 1024)}
	e.time(since)
	n := 0
	for _, fs := range s.facts {
		if !fs.masked && lasts(fs.fact.Valid, since) {
			n++
			stored := storedFact{fact: *fs.fact, revision: fs.revision, since: fs.since, sourced: fs.sourced}
			stored.encode(&e)
		}
	}
	k := nowKey(s.key.tenant, s.sid, s.key.slot)
	if n == 0 {
		return f.e.unset(k)
	}
	return f.e.set(k, e.b)
}

// lasts reports whether any interval ends after t.
func lasts(valid []events.Interval, t time.Time) bool {
	return slices.ContainsFunc(valid, func(iv events.Interval) bool { return iv.To.IsZero() || iv.To.After(t) })
}
