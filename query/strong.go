package query

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
)

// witness asks the log itself for the last word on what the views found, and
// remembers its slots, tombstones, holds and revisions for one question: what was
// forgotten, held, superseded, retracted or retired after the views were read is not
// shown as if it were not.
type witness struct {
	log       events.AggregateReader
	token     string
	forgotten map[events.Aggregate]bool
	subjects  map[string]events.SubjectState
	sources   map[string]events.SourceState
	slots     map[string]*events.Slot
}

func (s *Service) witness(token string) *witness {
	return &witness{
		log: s.log, token: token,
		forgotten: make(map[events.Aggregate]bool), subjects: make(map[string]events.SubjectState),
		sources: make(map[string]events.SourceState), slots: make(map[string]*events.Slot),
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
	slot, err := w.slot(ctx, q, c.fact.Slot)
	if err != nil {
		return false, err
	}
	f := slot.Find(c.ID)
	switch {
	case f == nil, f.Status == events.StatusDeleted, expired(f, q.now), !q.history && !f.TrueAt(q.at):
		return false, nil
	}
	if err := w.hideSources(ctx, c.fact); err != nil {
		return false, err
	}
	if ok, err := w.hasSource(ctx, q, f); err != nil || !ok {
		return false, err
	}
	c.fact.Status, c.fact.Valid = f.Status, f.Valid
	return true, nil
}

// slot is what the log says of a slot, as far as was known at the time of record.
func (w *witness) slot(ctx context.Context, q *search, id string) (*events.Slot, error) {
	if slot := w.slots[id]; slot != nil {
		return slot, nil
	}
	slot := &events.Slot{}
	agg := events.Aggregate{Tenant: w.token, Kind: events.KindFact, ID: id}
	for r, err := range w.log.ReadAggregate(ctx, agg, 0) {
		if err != nil {
			return nil, fmt.Errorf("read slot: %w", err)
		}
		if q.known != nil && r.RecordedAt.After(*q.known) && !hasTombstone(r.Events) {
			continue // asked about what was known before it
		}
		slot.Apply(r)
	}
	w.slots[id] = slot
	return slot, nil
}

// claim is how a fact stands that was taken from an episode, "" if it is nobody's to
// see, or not taken from it any more.
func (w *witness) claim(ctx context.Context, q *search, c *candidate, row *projectors.FactRow) (events.FactStatus, error) {
	slot, err := w.slot(ctx, q, row.Slot)
	if err != nil {
		return "", err
	}
	f := slot.Find(row.Fact)
	if f == nil || !slices.ContainsFunc(f.Sources, func(src events.SourceRef) bool { return src.Episode == c.ID }) {
		return "", nil
	}
	return w.stands(ctx, q, row.Subject, f)
}

// successor is the fact that is true in a slot by the log, nil if there is none or if
// the views do not have it yet.
func (w *witness) successor(ctx context.Context, q *search, e endedSlot) (*projectors.FactRow, error) {
	slot, err := w.slot(ctx, q, e.slot)
	if err != nil {
		return nil, err
	}
	f := slot.At(q.at)
	if f == nil {
		return nil, nil //nolint:nilnil // The absence of a row is an answer.
	}
	status, err := w.stands(ctx, q, e.sid, f)
	if err != nil || status != events.StatusActive {
		return nil, err
	}
	row, err := aliveFact(q.snap, w.token, f.Fact)
	if err != nil || row == nil || q.conceals(row) {
		return nil, err
	}
	row.Status, row.Valid = f.Status, f.Valid
	return row, nil
}

// stands is how a fact stands at the time asked about, "" if nothing of it is shown.
func (w *witness) stands(ctx context.Context, q *search, sid string, f *events.SlotFact) (events.FactStatus, error) {
	subject, err := w.subject(ctx, sid)
	if err != nil || subject.Tombstone != 0 || len(subject.Holds) > 0 {
		return "", err
	}
	status := q.stands(f)
	if status != events.StatusActive {
		return status, nil
	}
	if ok, err := w.hasSource(ctx, q, f); err != nil || !ok {
		return StatusRetired, err
	}
	return status, nil
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
