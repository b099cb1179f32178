package query

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/tombstones"
)

// pageSize is how many rows are read at once where all are wanted.
const pageSize = 1_000

// ErasingViews are the views as the forget saga asks them. Tombstones know
// nothing of the views, and projectors nothing of sagas; this is where they meet.
type ErasingViews struct{ views *projectors.Views }

var (
	_ tombstones.Views   = ErasingViews{}
	_ tombstones.Remains = ErasingViews{}
)

// NewErasingViews returns views in the form that package tombstones asks for.
func NewErasingViews(v *projectors.Views) ErasingViews { return ErasingViews{views: v} }

// WaitFor implements [tombstones.Views].
func (v ErasingViews) WaitFor(ctx context.Context, position uint64) error {
	if err := v.views.WaitFor(ctx, position); err != nil {
		return fmt.Errorf("wait for position: %w", err)
	}
	return nil
}

// Snapshot implements [tombstones.Views].
func (v ErasingViews) Snapshot(ctx context.Context) (tombstones.Snapshot, error) {
	snap, err := v.views.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	return &erasingSnapshot{snap: snap}, nil
}

// Leftovers implements [tombstones.Remains].
func (v ErasingViews) Leftovers(ctx context.Context, tenant string) iter.Seq2[tombstones.Leftover, error] {
	return func(yield func(tombstones.Leftover, error) bool) {
		for l, err := range v.views.Leftovers(ctx, tenant) {
			if err != nil {
				yield(tombstones.Leftover{}, fmt.Errorf("list leftovers: %w", err))
				return
			}
			if !yield(tombstones.Leftover{Subject: l.Subject, Erasure: l.Erasure, Position: l.Position, Mixed: l.Mixed}, nil) {
				return
			}
		}
	}
}

// LeftoverTenants implements [tombstones.Remains].
func (v ErasingViews) LeftoverTenants(ctx context.Context) iter.Seq2[string, error] {
	return v.views.LeftoverTenants(ctx)
}

// Settle implements [tombstones.Remains].
func (v ErasingViews) Settle(ctx context.Context, deleted func(position uint64) bool) error {
	if err := v.views.Settle(ctx, deleted); err != nil {
		return fmt.Errorf("settle leftovers: %w", err)
	}
	return nil
}

// Purge implements [tombstones.Remains].
func (v ErasingViews) Purge(ctx context.Context) error {
	if err := v.views.Purge(ctx); err != nil {
		return fmt.Errorf("purge views: %w", err)
	}
	return nil
}

// erasingSnapshot implements [tombstones.Snapshot].
type erasingSnapshot struct{ snap *projectors.Snapshot }

func (s *erasingSnapshot) Close() error {
	if err := s.snap.Close(); err != nil {
		return fmt.Errorf("close snapshot: %w", err)
	}
	return nil
}

func (s *erasingSnapshot) Fact(tenant, id string) (tombstones.Fact, error) {
	row, err := s.snap.Fact(tenant, id)
	if err != nil {
		return tombstones.Fact{}, fmt.Errorf("read fact: %w", err)
	}
	f := tombstones.Fact{Record: recordOfFact(&row)}
	if row.Status == events.StatusDeleted {
		f.Erasure, f.Tombstone = row.Erasure, row.ChangedAt
	}
	return f, nil
}

func recordOfFact(row *projectors.FactRow) tombstones.Record {
	return tombstones.Record{
		Kind: events.KindFact, ID: row.Fact, Aggregate: row.Slot, Subject: row.Subject, Position: row.ProposedAt,
	}
}

func (s *erasingSnapshot) Slots(tenant, episode, subject string) ([]string, error) {
	var rows []projectors.FactRow
	var err error
	if episode != "" {
		rows, err = s.snap.FactsBySource(tenant, episode)
	} else {
		rows, err = s.snap.FactsBySourceSubject(tenant, subject)
	}
	if err != nil {
		return nil, fmt.Errorf("find what is derived: %w", err)
	}
	slots := make([]string, len(rows))
	for i := range rows {
		slots[i] = rows[i].Slot
	}
	return slots, nil
}

func (s *erasingSnapshot) Derived(tenant, episode string) ([]tombstones.Derivation, error) {
	rows, err := s.snap.FactsBySource(tenant, episode)
	if err != nil {
		return nil, fmt.Errorf("find what is derived: %w", err)
	}
	list := make([]tombstones.Derivation, len(rows))
	for i := range rows {
		list[i] = tombstones.Derivation{ID: rows[i].Fact, Sources: rows[i].Sources}
	}
	return list, nil
}

func (s *erasingSnapshot) Position() uint64 { return s.snap.Position() }

func (s *erasingSnapshot) Tally(tenant, subject string) (tombstones.Tally, bool, error) {
	t, counted, err := s.snap.Tally(tenant, subject)
	if err != nil {
		return tombstones.Tally{}, false, fmt.Errorf("count records: %w", err)
	}
	return tombstones.Tally(t), counted, nil
}

func (s *erasingSnapshot) Held(tenant, subject string) bool { return s.snap.Held(tenant, subject) }

func (s *erasingSnapshot) TombstonesOf(tenant, erasure, after string, limit int) ([]tombstones.Tombstone, string, error) {
	rows, next, err := s.snap.TombstonesOf(tenant, erasure, after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("list tombstones: %w", err)
	}
	page := make([]tombstones.Tombstone, len(rows))
	for i, row := range rows {
		page[i] = tombstones.Tombstone{
			Kind: row.Kind, ID: row.ID, Subject: row.Subject, Erasure: row.Erasure, Position: row.Position,
		}
	}
	return page, next, nil
}

// Match asks the search index for what it can filter by and looks at the rows
// for the rest: times, which mean different things for episodes and facts, and
// principals and sources, which the index does not have.
func (s *erasingSnapshot) Match(ctx context.Context, tenant string, m tombstones.Match) ([]tombstones.Record, error) {
	if m.Source != "" {
		return s.bySource(ctx, tenant, m.Source)
	}
	f := index.Filter{
		Tenant: tenant, Categories: m.Categories, EntitiesAny: m.Entities,
		Where: index.AllOf(index.FieldLabels, m.Labels...),
	}
	if m.Subject != "" {
		f.Subjects = []string{m.Subject}
	}
	if m.Session != "" {
		f.Sessions = []string{m.Session}
	}
	for _, k := range m.Kinds {
		f.Kinds = append(f.Kinds, indexKind(k))
	}
	ids, _, err := s.snap.MemoryIDs(tenant, f, math.MaxInt)
	if err != nil {
		return nil, fmt.Errorf("list matches: %w", err)
	}
	records := make([]tombstones.Record, 0, len(ids))
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("list matches: %w", context.Cause(ctx))
		}
		r, ok, err := s.within(tenant, id, &m)
		if err != nil {
			return nil, err
		}
		if ok {
			records = append(records, r)
		}
	}
	return records, nil
}

func indexKind(k events.Kind) index.Kind {
	if k == events.KindFact {
		return index.Fact
	}
	return index.Episode
}

// within reads a row and checks its time and its author.
func (s *erasingSnapshot) within(tenant string, id projectors.MemoryID, m *tombstones.Match) (tombstones.Record, bool, error) {
	period := &Period{}
	if m.From != nil {
		period.From = events.AtOrNil(*m.From)
	}
	if m.To != nil {
		period.To = events.AtOrNil(*m.To)
	}
	if id.Kind == index.Fact {
		row, err := s.snap.Fact(tenant, id.ID)
		if errors.Is(err, events.ErrNotFound) {
			return tombstones.Record{}, false, nil
		}
		if err != nil {
			return tombstones.Record{}, false, fmt.Errorf("read fact: %w", err)
		}
		ok := row.Status != events.StatusDeleted && period.contains(row.ObservedAt) && by(m, row.Principal)
		return recordOfFact(&row), ok, nil
	}
	row, err := s.snap.Episode(tenant, id.ID)
	if errors.Is(err, events.ErrNotFound) {
		return tombstones.Record{}, false, nil
	}
	if err != nil {
		return tombstones.Record{}, false, fmt.Errorf("read episode: %w", err)
	}
	return recordOfEpisode(&row), !row.Forgotten && period.contains(row.OccurredAt) && by(m, row.Principal), nil
}

// by says whether the principal is the one that is asked for, if one is.
func by(m *tombstones.Match, principal string) bool {
	return m.Principal == "" || m.Principal == principal
}

func recordOfEpisode(row *projectors.EpisodeRow) tombstones.Record {
	return tombstones.Record{
		Kind: events.KindEpisode, ID: row.ID, Aggregate: row.ID, Subject: row.Subject, Position: row.Position,
	}
}

func (s *erasingSnapshot) bySource(ctx context.Context, tenant, source string) ([]tombstones.Record, error) {
	var records []tombstones.Record
	for after := ""; ; {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("list episodes: %w", context.Cause(ctx))
		}
		rows, next, err := s.snap.Episodes(tenant, projectors.EpisodeFilter{After: after, Limit: pageSize})
		if err != nil {
			return nil, fmt.Errorf("list episodes: %w", err)
		}
		for i := range rows {
			if rows[i].Source == source {
				records = append(records, recordOfEpisode(&rows[i]))
			}
		}
		if next == "" {
			return records, nil
		}
		after = next
	}
}
