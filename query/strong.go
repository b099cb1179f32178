package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
)

// confirm asks the log itself for the last word on each candidate and keeps
// those that it still bears out: what was forgotten, held, superseded, retracted or
// retired after the views were read is not shown.
func (s *Service) confirm(ctx context.Context, q *search, chunk []ranked) ([]ranked, error) {
	kept := make([]ranked, 0, len(chunk))
	w := s.witness(q.token)
	for i := range chunk {
		ok, err := w.bearsOut(ctx, q, &chunk[i].candidate)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, chunk[i])
		}
	}
	return kept, nil
}

// witness reads the log and remembers its tombstones, holds and revisions for one question.
type witness struct {
	log       events.AggregateReader
	token     string
	forgotten map[events.Aggregate]bool
	subjects  map[string]events.SubjectState
	sources   map[string]events.SourceState
}

func (s *Service) witness(token string) *witness {
	return &witness{
		log: s.log, token: token,
		forgotten: make(map[events.Aggregate]bool), subjects: make(map[string]events.SubjectState),
		sources: make(map[string]events.SourceState),
	}
}

func (w *witness) bearsOut(ctx context.Context, q *search, c *candidate) (bool, error) {
	if c.episode != nil {
		held, err := w.held(ctx, c.episode.Subject)
		if err != nil || held {
			return false, err
		}
		current, err := w.isCurrent(ctx, q, c.episode.Source, c.episode.Revision, c.episode.Position)
		if err != nil || !current {
			return false, err
		}
		return w.alive(ctx, c.episode.Subject, c.ID)
	}
	subject, err := w.subject(ctx, c.fact.Subject)
	if err != nil || subject.Tombstone != 0 || len(subject.Holds) > 0 {
		return false, err
	}
	var slot events.Slot
	agg := events.Aggregate{Tenant: w.token, Kind: events.KindFact, ID: c.fact.Slot}
	for r, err := range w.log.ReadAggregate(ctx, agg, 0) {
		if err != nil {
			return false, fmt.Errorf("read slot: %w", err)
		}
		if q.known != nil && r.RecordedAt.After(*q.known) && !hasTombstone(r.Events) {
			continue // asked about what was known before it
		}
		slot.Apply(r)
	}
	f := slot.Find(c.ID)
	if f == nil || f.Status == events.StatusDeleted || expired(f, q.now) || !f.TrueAt(q.at) {
		return false, nil
	}
	if err := w.hideSources(ctx, c.fact); err != nil {
		return false, err
	}
	return w.hasSource(ctx, q, f)
}

// hideSources takes the sources out of a fact that are under a legal hold.
func (w *witness) hideSources(ctx context.Context, row *projectors.FactRow) error {
	shown := make([]events.SourceRef, 0, len(row.Sources))
	for _, src := range row.Sources {
		held, err := w.held(ctx, src.Subject)
		if err != nil {
			return err
		}
		if !held {
			shown = append(shown, src)
		}
	}
	row.Sources = shown
	return nil
}

// hasSource reports whether a source of the fact is left that was not forgotten
// and is current, or whether it never had one that existed. One that is held is not
// forgotten.
func (w *witness) hasSource(ctx context.Context, q *search, f *events.SlotFact) (bool, error) {
	existed := false
	for _, src := range f.Sources {
		if src.Subject == "" {
			continue
		}
		existed = true
		ok, err := w.isCurrent(ctx, q, src.Source, src.Revision, src.At)
		if err != nil {
			return false, err
		}
		if ok {
			ok, err = w.alive(ctx, src.Subject, src.Episode)
		}
		if err != nil || ok {
			return ok, err
		}
	}
	return !existed, nil
}

// alive reports whether neither the episode nor its subject has a tombstone.
func (w *witness) alive(ctx context.Context, sid, episode string) (bool, error) {
	subject, err := w.subject(ctx, sid)
	if err != nil || subject.Tombstone != 0 {
		return false, err
	}
	gone, err := w.tombstoned(ctx, events.KindEpisode, episode)
	return err == nil && !gone, err
}

// held reports whether the subject is under a legal hold; that without an id is not.
func (w *witness) held(ctx context.Context, sid string) (bool, error) {
	if sid == "" {
		return false, nil
	}
	s, err := w.subject(ctx, sid)
	return len(s.Holds) > 0, err
}

// subject is what the log says of a subject.
func (w *witness) subject(ctx context.Context, sid string) (events.SubjectState, error) {
	if s, ok := w.subjects[sid]; ok {
		return s, nil
	}
	s, err := events.ReadSubject(ctx, w.log, w.token, sid)
	if err != nil {
		return events.SubjectState{}, fmt.Errorf("read subject: %w", err)
	}
	w.subjects[sid] = s
	return s, nil
}

// tombstoned reports whether the aggregate has a tombstone: it need not be the
// last commit, for a writer that lost a race may have come after it.
func (w *witness) tombstoned(ctx context.Context, kind events.Kind, id string) (bool, error) {
	agg := events.Aggregate{Tenant: w.token, Kind: kind, ID: id}
	if gone, ok := w.forgotten[agg]; ok {
		return gone, nil
	}
	gone := false
	for r, err := range w.log.ReadAggregate(ctx, agg, 0) {
		if err != nil {
			return false, fmt.Errorf("read aggregate: %w", err)
		}
		if gone = hasTombstone(r.Events); gone {
			break
		}
	}
	w.forgotten[agg] = gone
	return gone, nil
}

func hasTombstone(list []events.Event) bool {
	for _, e := range list {
		switch e.(type) {
		case events.EpisodeForgotten, events.SubjectForgotten, events.FactForgotten:
			return true
		default:
		}
	}
	return false
}

// ErrDamaged says that a record cannot be opened and that nothing in the log says
// that it was forgotten: its key is lost, which is damage and no answer.
var ErrDamaged = errors.New("record cannot be opened: its key is missing and no tombstone says why")

// lost tells what it means that the key of a record is not there.
func (s *Service) lost(ctx context.Context, token string, kind events.Kind, id, sid string) error {
	w := s.witness(token)
	for _, a := range []struct {
		kind events.Kind
		id   string
	}{{events.KindSubject, sid}, {kind, id}} {
		gone, err := w.tombstoned(ctx, a.kind, a.id)
		if err != nil {
			return err
		}
		if gone {
			return events.ErrForgotten
		}
	}
	return ErrDamaged
}
