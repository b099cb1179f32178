package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// confirm asks the log itself for the last word on each candidate and keeps
// those that it still bears out: what was forgotten, superseded or retracted
// after the views were read is not shown.
func (s *Service) confirm(ctx context.Context, q *search, chunk []ranked) ([]ranked, error) {
	kept := make([]ranked, 0, len(chunk))
	w := witness{log: s.log, token: q.token, forgotten: make(map[events.Aggregate]bool)}
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

// witness reads the log and remembers its tombstones for one question.
type witness struct {
	log       events.AggregateReader
	token     string
	forgotten map[events.Aggregate]bool
}

func (w *witness) bearsOut(ctx context.Context, q *search, c *candidate) (bool, error) {
	if c.episode != nil {
		return w.alive(ctx, c.episode.Subject, c.ID)
	}
	gone, err := w.tombstoned(ctx, events.KindSubject, c.fact.Subject)
	if err != nil || gone {
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
	return w.hasSource(ctx, f)
}

// hasSource reports whether a source of the fact is left that was not forgotten,
// or whether it never had one that existed.
func (w *witness) hasSource(ctx context.Context, f *events.SlotFact) (bool, error) {
	existed := false
	for _, src := range f.Sources {
		if src.Subject == "" {
			continue
		}
		existed = true
		alive, err := w.alive(ctx, src.Subject, src.Episode)
		if err != nil || alive {
			return alive, err
		}
	}
	return !existed, nil
}

// alive reports whether neither the episode nor its subject has a tombstone.
func (w *witness) alive(ctx context.Context, sid, episode string) (bool, error) {
	gone, err := w.tombstoned(ctx, events.KindSubject, sid)
	if err != nil || gone {
		return false, err
	}
	gone, err = w.tombstoned(ctx, events.KindEpisode, episode)
	return err == nil && !gone, err
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
	w := witness{log: s.log, token: token, forgotten: make(map[events.Aggregate]bool)}
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
