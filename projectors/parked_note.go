package projectors

import (
	"errors"

	"github.com/annals-memory/annals/events"
)

// noteParked keeps where the log holds sealed content that could not be folded, as note does for what is: a tombstone must reach
// it as well. What cannot be decoded belongs to its aggregate, as far as that tells whose it is.
func (e *engine) noteParked(it *item) error {
	if it.err == nil {
		about, stays, err := e.folder.about(&it.rec)
		if err != nil {
			return err
		}
		return e.note(&it.rec, about, stays)
	}
	aggregate, err := events.ParseSubject(it.subject)
	if err != nil {
		return nil //nolint:nilerr // It is nobody's.
	}
	p, found, err := e.folder.owner(aggregate)
	if err != nil || !found {
		return err
	}
	r := events.Recorded{Position: it.position}
	r.Aggregate = aggregate
	// What another version of this program can read may tell of more than this one knows.
	parked, ok := errors.AsType[*parkError](it.err)
	return e.note(&r, []matter{p}, ok && parked.cause == causeUnknownType)
}

// about are the facts of a commit, each with its own subject.
func (f *facts) about(r *events.Recorded) (about []matter, stays bool, err error) {
	if r.Aggregate.Kind != events.KindFact {
		return nil, false, nil
	}
	s, err := f.slots.slot(r.Aggregate.Tenant, r.Aggregate.ID)
	if err != nil {
		return nil, false, err
	}
	about, stays = factMatters(r.Events, s.sid)
	for _, ev := range r.Events {
		if p, ok := ev.(events.FactProposed); ok {
			for i := range about {
				if about[i].id == p.Fact {
					about[i].sid = p.Subject
				}
			}
		}
	}
	return about, stays, nil
}

// owner is the subject of a slot: which of its facts it is cannot be told.
func (f *facts) owner(a events.Aggregate) (p matter, found bool, err error) {
	if a.Kind != events.KindFact {
		return matter{}, false, nil
	}
	s, err := f.slots.slot(a.Tenant, a.ID)
	if err != nil || s.sid == "" {
		return matter{}, false, err
	}
	return matter{kind: kindSubject, sid: s.sid, id: s.sid, sealed: true}, true, nil
}

func (m *memories) about(r *events.Recorded) (about []matter, stays bool, err error) {
	switch r.Aggregate.Kind { //nolint:exhaustive // The others are not this view's to note.
	case events.KindEpisode:
		about, stays = episodeMatters(r)
	case events.KindSubject:
		about, stays = subjectMatters(r)
	case events.KindVector:
		about, stays = vectorMatters(r.Events)
	default:
	}
	return about, stays, nil
}

// owner is an episode or a subject. Of an episode that is not here the subject is not known.
func (m *memories) owner(a events.Aggregate) (p matter, found bool, err error) {
	switch a.Kind { //nolint:exhaustive // The others are not this view's to note.
	case events.KindEpisode:
		sid, err := m.subjectOfEpisode(a.Tenant, a.ID)
		return matter{kind: kindEpisode, sid: sid, id: a.ID, sealed: true}, true, err
	case events.KindSubject:
		return matter{kind: kindSubject, sid: a.ID, id: a.ID, sealed: true}, true, nil
	default:
		return matter{}, false, nil
	}
}

func (f *traces) about(r *events.Recorded) (about []matter, stays bool, err error) {
	if r.Aggregate.Kind == events.KindTrace {
		about, stays = traceMatters(r.Events)
	}
	return about, stays, nil
}

// owner is nobody: a tenant's traces share an aggregate.
func (f *traces) owner(events.Aggregate) (p matter, found bool, err error) {
	return matter{}, false, nil
}
