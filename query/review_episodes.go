package query

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/projectors"
)

// episode collects the episode that waits in quarantine under an id, if one does.
func (q *reviewQuery) episode(ctx context.Context, id string) error {
	if q.s.quarantine == nil {
		return nil
	}
	m, err := q.s.quarantine.Get(ctx, q.r.token, id)
	if errors.Is(err, events.ErrNoCommits) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read quarantine: %w", err)
	}
	return q.take(ctx, m)
}

// take adds what waits as a message, if it is shown.
func (q *reviewQuery) take(ctx context.Context, m events.Message) error {
	rec, err := events.Decode(m)
	if err != nil {
		return nil //nolint:nilerr // It can be shown to nobody, and its time will be over.
	}
	item, err := q.detained(ctx, &rec)
	if err == nil && item != nil {
		q.found = append(q.found, *item)
	}
	return err
}

// episodes collects the episodes that wait in quarantine behind a place in it. It
// returns where to go on, 0 at the end.
func (q *reviewQuery) episodes(ctx context.Context, after uint64) (next uint64, err error) {
	if q.s.quarantine == nil {
		return 0, nil
	}
	last := after
	for m, err := range q.s.quarantine.List(ctx, q.r.token) {
		if err != nil {
			return 0, fmt.Errorf("list quarantine: %w", err)
		}
		if m.Position <= after {
			continue
		}
		if len(q.found) == q.limit {
			return last, nil
		}
		last = m.Position
		if err := q.take(ctx, m); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// detained is what is shown of an episode in quarantine, nil if it does not wait
// by what the log says, or nothing is shown of its subject.
func (q *reviewQuery) detained(ctx context.Context, rec *events.Recorded) (*Review, error) {
	var c *events.EpisodeCaptured
	for _, e := range rec.Events {
		if e, ok := e.(events.EpisodeCaptured); ok {
			c = &e
		}
	}
	if c == nil || rec.Aggregate.Tenant != q.r.token || rec.Aggregate.Kind != events.KindEpisode || q.r.silent(c.Subject) {
		return nil, nil //nolint:nilnil // The absence of an item is an answer.
	}
	waits, by, at, err := q.waits(ctx, rec.Aggregate)
	if err != nil || waits == nil {
		return nil, err
	}
	subject, err := events.ReadSubject(ctx, q.s.log, q.r.token, c.Subject)
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	if subject.Erasure != "" || len(subject.Holds) > 0 {
		return nil, nil //nolint:nilnil // As above.
	}
	row := projectors.EpisodeRow{
		Tenant: q.r.token, ID: rec.Aggregate.ID, EpisodeCaptured: *c, ContentType: events.TypeEpisodeCaptured,
		RecordedAt: at, Principal: by,
	}
	plain, err := q.s.keys.Open(ctx, episodeItem(&row).Scope, episodeItem(&row).Label, c.Content)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return nil, nil //nolint:nilnil // As above.
	}
	if err != nil {
		return nil, fmt.Errorf("open episode: %w", err)
	}
	content, err := parse[events.EpisodeContent](plain)
	if err != nil {
		return nil, err
	}
	episode := newEpisode(&row, &content)
	return &Review{
		Kind: string(events.KindEpisode), ID: row.ID, State: ReviewOpen, ContentHash: waits.Hash,
		Subject: content.Subject, Category: content.Category, Episode: &episode, Trust: c.Trust, Guard: guardOf(waits.Guard),
		Proposer: by, Own: by == q.me, ProposedAt: events.At(at), AgeSeconds: int64(q.r.now.Sub(at) / time.Second),
		Deadline: events.AtOrNil(waits.Until), Decision: events.DecisionQuarantine, Gates: []events.Gate{}, Reviews: []ReviewSaid{},
	}, nil
}

// waits is what the log says of an episode that waits, with who captured it and
// when; nil if it does not.
func (q *reviewQuery) waits(ctx context.Context, a events.Aggregate) (waits *events.EpisodeQuarantined, by string, at time.Time, err error) {
	for r, err := range q.s.log.ReadAggregate(ctx, a, 0) {
		if errors.Is(err, events.ErrNoCommits) {
			return nil, "", time.Time{}, nil
		}
		if err != nil {
			return nil, "", time.Time{}, fmt.Errorf("read episode: %w", err)
		}
		for _, e := range r.Events {
			switch e := e.(type) {
			case events.EpisodeQuarantined:
				waits, by, at = &e, r.Principal, r.RecordedAt
			case events.EpisodeCaptured, events.EpisodeDropped, events.EpisodeForgotten:
				waits = nil
			default:
			}
		}
	}
	return waits, by, at, nil
}
