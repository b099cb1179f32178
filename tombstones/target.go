package tombstones

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// target is a record that is to be forgotten.
type target struct {
	Record

	// erasure and position are those of the tombstone, once there is one.
	erasure  string
	position uint64
	// dead says that nothing opens the record: its own key is gone, or one above it.
	dead bool
}

// find finds a record by its id alone: by its key row, which is there before the
// record is, or, when that is gone or damaged, by the record or its tombstone.
func (e *Eraser) find(ctx context.Context, j *job, id string) (target, error) {
	var n token.Note
	rec, err := e.keys.Record(ctx, j.token, id)
	if err == nil {
		n, err = token.ParseNote(rec.Note())
	}
	switch {
	case errors.Is(err, seal.ErrKeyDestroyed):
		t, err := e.findWithoutKey(ctx, j, id)
		t.dead = true
		return t, err
	case damaged(err), errors.Is(err, events.ErrCorrupt):
		// A fact can only be found by the views: let them know of it.
		if _, err := e.catchUp(ctx); err != nil && !errors.Is(err, events.ErrBehind) {
			return target{}, err
		}
		return e.findWithoutKey(ctx, j, id)
	case err != nil:
		return target{}, fmt.Errorf("find record: %w", err)
	}
	if n.Kind != events.KindEpisode && n.Kind != events.KindFact {
		return target{}, events.ErrNotFound // a trace, or a key of a command
	}
	if n.Kind == events.KindEpisode && j.blind {
		last, err := e.log.Last(ctx, events.Aggregate{Tenant: j.token, Kind: events.KindEpisode, ID: id})
		if err != nil && !errors.Is(err, events.ErrNoCommits) {
			return target{}, fmt.Errorf("read episode: %w", err)
		}
		if detained(last.Events) {
			return target{}, events.ErrNotFound
		}
	}
	return target{Record: Record{Kind: n.Kind, ID: id, Aggregate: n.Aggregate, Subject: rec.Scope().Subject}}, nil
}

// detained says whether an episode that these are the last events of waits in
// quarantine or was dropped there: nobody but a reviewer is shown that it is there.
func detained(last []events.Event) bool {
	return slices.ContainsFunc(last, func(ev events.Event) bool {
		switch ev.(type) {
		case events.EpisodeQuarantined, events.EpisodeDropped:
			return true
		default:
			return false
		}
	})
}

// findWithoutKey finds an episode by the log and a fact by the views, which know
// its slot.
func (e *Eraser) findWithoutKey(ctx context.Context, j *job, id string) (target, error) {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindEpisode, ID: id}
	last, err := e.log.Last(ctx, agg)
	switch {
	case err == nil:
		return e.episodeWithoutKey(ctx, j, id, last)
	case !errors.Is(err, events.ErrNoCommits):
		return target{}, fmt.Errorf("read episode: %w", err)
	}
	t := target{}
	err = e.snapshot(ctx, func(s Snapshot) error {
		f, err := s.Fact(j.token, id)
		t.Record, t.erasure, t.position = f.Record, f.Erasure, f.Tombstone
		return err
	})
	if errors.Is(err, events.ErrNotFound) {
		return target{}, events.ErrNotFound
	}
	if err != nil {
		return target{}, fmt.Errorf("read fact: %w", err)
	}
	return t, nil
}

// episodeWithoutKey tells the tombstone of an episode, that of its subject and an
// episode without one, such as one that was dropped in quarantine, apart.
func (e *Eraser) episodeWithoutKey(ctx context.Context, j *job, id string, last events.Recorded) (target, error) {
	if j.blind && detained(last.Events) {
		return target{}, events.ErrNotFound
	}
	t := target{Record: Record{Kind: events.KindEpisode, ID: id, Aggregate: id}}
	for _, ev := range last.Events {
		switch ev := ev.(type) {
		case events.EpisodeForgotten:
			t.Subject = ev.Subject
			return t, nil
		case events.EpisodeCaptured:
			t.Subject = ev.Subject
		case events.EpisodeQuarantined:
			t.Subject = ev.Subject
		case events.EpisodeDropped:
			t.Subject = ev.Subject
		default:
		}
	}
	if t.Subject == "" {
		return t, nil
	}
	s, err := events.ReadSubject(ctx, e.log, j.token, t.Subject)
	if err != nil {
		return target{}, fmt.Errorf("find tombstone: %w", err)
	}
	t.erasure, t.position = s.Erasure, s.Tombstone
	return t, nil
}

// targets finds what a request names. A repetition also finds what its first
// call has already forgotten.
func (e *Eraser) targets(ctx context.Context, j *job, req *ForgetRequest) ([]target, error) {
	if req.IDs != nil {
		return e.byID(ctx, j, req.IDs)
	}
	if j.tenant == nil {
		return nil, nil
	}
	match, ok, err := e.match(ctx, j, req)
	if err != nil {
		return nil, err
	}
	if j.upTo, err = e.catchUp(ctx); err != nil {
		return nil, err
	}
	if j.plan != nil {
		j.upTo = j.plan.UpTo
	}
	var found []target
	err = e.snapshot(ctx, func(s Snapshot) error {
		if j.plan != nil {
			if found, err = e.own(s, j); err != nil {
				return err
			}
		}
		if !ok {
			return nil
		}
		records, err := s.Match(ctx, j.token, match)
		if err != nil {
			return fmt.Errorf("match records: %w", err)
		}
		for _, r := range records {
			if r.Position <= j.upTo {
				found = append(found, target{Record: r})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return distinct(found), nil
}

// byID finds all records or none.
func (e *Eraser) byID(ctx context.Context, j *job, ids []string) ([]target, error) {
	if j.tenant == nil {
		return nil, events.ErrNotFound
	}
	list := make([]target, 0, len(ids))
	for _, id := range ids {
		canonical := token.CanonicalID(id)
		if canonical == "" {
			return nil, events.ErrNotFound
		}
		t, err := e.find(ctx, j, canonical)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return distinct(list), nil
}

// own returns what has a tombstone of this very erasure.
func (e *Eraser) own(s Snapshot, j *job) ([]target, error) {
	var list []target
	for t, err := range tombstonesOf(s, j.token, j.erasure) {
		if err != nil {
			return nil, err
		}
		if t.Kind == events.KindSubject {
			continue
		}
		list = append(list, target{
			Record:  Record{Kind: t.Kind, ID: t.ID, Subject: t.Subject},
			erasure: t.Erasure, position: t.Position,
		})
	}
	return list, nil
}

// match turns names into tokens; ok is false if nothing can match.
func (e *Eraser) match(ctx context.Context, j *job, req *ForgetRequest) (Match, bool, error) {
	if req.Source != nil {
		return Match{Source: token.Source(j.tenant, *req.Source)}, true, nil
	}
	f := req.Filter
	m := Match{
		Session:    token.Session(j.tenant, f.Session),
		Categories: token.Each(j.tenant, token.Category, f.Categories...),
		Entities:   token.Each(j.tenant, token.Entity, f.Entities...),
	}
	if f.Principal != "" {
		m.Principal = token.Principal(j.tenant, f.Principal)
	}
	if f.Occurred != nil && f.Occurred.From != nil {
		m.From = &f.Occurred.From.Time
	}
	if f.Occurred != nil && f.Occurred.To != nil {
		m.To = &f.Occurred.To.Time
	}
	var err error
	if m.Kinds, err = f.kinds(); err != nil {
		return Match{}, false, err
	}
	for key, value := range f.Metadata {
		label, err := token.Label(j.tenant, key, value)
		if err != nil {
			return Match{}, false, malformed("filter.metadata", "bad_type", "must be JSON")
		}
		m.Labels = append(m.Labels, label)
	}
	if f.Subject == "" {
		return m, true, nil
	}
	m.Subject, err = j.tenant.SubjectID(ctx, f.Subject, false)
	if errors.Is(err, seal.ErrUnknownSubject) {
		return Match{}, false, nil
	}
	if err != nil {
		return Match{}, false, fmt.Errorf("find subject: %w", err)
	}
	return m, true, nil
}

// distinct sorts by kind, aggregate and id, and leaves out repetitions.
func distinct(list []target) []target {
	slices.SortFunc(list, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Aggregate, b.Aggregate), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(list, func(a, b target) bool { return a.Kind == b.Kind && a.ID == b.ID })
}
