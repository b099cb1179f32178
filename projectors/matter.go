package projectors

import (
	"slices"

	"github.com/annals-memory/annals/events"
)

// matter is a record that a commit is about.
type matter struct {
	kind    byte
	sid, id string
	// sealed says that the commit holds sealed content of the record.
	sealed bool
}

// addMatter adds a record, once for each record.
func addMatter(about []matter, p matter) []matter {
	i := slices.IndexFunc(about, func(o matter) bool { return o.kind == p.kind && o.sid == p.sid && o.id == p.id })
	if i < 0 {
		return append(about, p)
	}
	about[i].sealed = about[i].sealed || p.sealed
	return about
}

// A commit stays in the log for good if it says something that no tombstone of its records ends.

// factMatters are the facts that a commit of a slot is about.
func factMatters(list []events.Event, sid string) (about []matter, stays bool) {
	for _, e := range list {
		p := matter{kind: kindFact, sid: sid, id: factOf(e)}
		switch e := e.(type) {
		case events.FactProposed:
			p.sealed = true
		case events.FactRetracted:
			p.sealed = len(e.Content) > 0
		case events.FactReviewed:
			p.sealed = len(e.Content) > 0
		case events.FactForgotten:
			stays = true
		default:
			stays = stays || p.id == ""
		}
		about = addMatter(about, p)
	}
	return about, stays
}

func episodeMatters(r *events.Recorded) (about []matter, stays bool) {
	for _, e := range r.Events {
		switch e := e.(type) {
		case events.EpisodeCaptured:
			about = addMatter(about, matter{kind: kindEpisode, sid: e.Subject, id: r.Aggregate.ID, sealed: true})
		case events.EpisodeDropped:
			if len(e.Content) > 0 { // what the reviewer said of it
				about = addMatter(about, matter{kind: kindEpisode, sid: e.Subject, id: r.Aggregate.ID, sealed: true})
			}
			stays = stays || len(e.Content) == 0
		default:
			stays = true
		}
	}
	return about, stays
}

// subjectMatters tell of what is sealed in a subject's own events: its name, and what it agreed to.
func subjectMatters(r *events.Recorded) (about []matter, stays bool) {
	for _, e := range r.Events {
		switch e.(type) {
		case events.SubjectRegistered, events.ConsentGranted:
			about = addMatter(about, matter{kind: kindSubject, sid: r.Aggregate.ID, id: r.Aggregate.ID, sealed: true})
		default:
			stays = true
		}
	}
	return about, stays
}

func vectorMatters(list []events.Event) (about []matter, stays bool) {
	for _, e := range list {
		if v, ok := e.(events.VectorEmbedded); ok {
			about = addMatter(about, matter{kind: kindOf(&v), sid: v.Subject, id: v.Record, sealed: true})
		} else {
			stays = true
		}
	}
	return about, stays
}

func traceMatters(list []events.Event) (about []matter, stays bool) {
	recalled := func(id string) bool {
		return slices.ContainsFunc(about, func(p matter) bool { return p.id == id })
	}
	for _, e := range list {
		switch e := e.(type) {
		case events.TraceRecalled:
			if e.Subject == "" {
				stays = true
				continue
			}
			about = addMatter(about, matter{kind: kindTrace, sid: e.Subject, id: e.Trace, sealed: true})
		case events.TraceUsed:
			stays = stays || !recalled(e.Trace)
		case events.TraceJudged:
			stays = stays || !recalled(e.Trace)
		default:
			stays = true
		}
	}
	return about, stays
}
