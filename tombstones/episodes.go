package tombstones

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// buryEpisodes puts the tombstones of episodes into the log, many at a time where
// nothing is in the way and one by one where something is.
func (e *Eraser) buryEpisodes(ctx context.Context, j *job, list []*target) error {
	for len(list) > 0 {
		n := min(len(list), batchSize)
		if err := e.buryBatch(ctx, j, list[:n]); err != nil {
			return err
		}
		for _, t := range list[:n] {
			if t.position != 0 {
				continue
			}
			if err := e.buryEpisode(ctx, j, t); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

// buryBatch appends the tombstones of the episodes whose position is known in
// one atomic batch. On a conflict it leaves all to be buried one by one.
func (e *Eraser) buryBatch(ctx context.Context, j *job, list []*target) error {
	var batch []events.Pending
	var of []*target
	for _, t := range list {
		if t.Position == 0 || t.position != 0 || t.Subject == "" {
			continue
		}
		of = append(of, t)
		batch = append(batch, events.Pending{
			Commit: e.episodeTombstone(j, t, t.Position), Expect: events.Expect(t.Position),
		})
	}
	if len(batch) < 2 {
		return nil
	}
	acks, err := e.log.AppendBatch(ctx, batch)
	if errors.Is(err, events.ErrConflict) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("append tombstones: %w", err)
	}
	for i, t := range of {
		t.erasure, t.position = j.erasure, acks[i].Position
	}
	return nil
}

// buryEpisode appends one tombstone, or finds the one that is there. An episode
// whose event is not there, as of one in quarantine, gets its tombstone too: the
// event can then never follow. No tombstone is appended that names no subject: the
// error is then events.ErrCorrupt.
func (e *Eraser) buryEpisode(ctx context.Context, j *job, t *target) error {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindEpisode, ID: t.ID}
	for range maxTries {
		last, err := e.log.Last(ctx, agg)
		if err != nil && !errors.Is(err, events.ErrNoCommits) {
			return fmt.Errorf("read episode: %w", err)
		}
		for _, ev := range last.Events {
			if f, ok := ev.(events.EpisodeForgotten); ok {
				t.erasure, t.position = f.Erasure, last.Position
				return nil
			}
		}
		if t.Subject == "" {
			return fmt.Errorf("append tombstone: no subject: %w", events.ErrCorrupt)
		}
		ack, err := e.log.Append(ctx, e.episodeTombstone(j, t, last.Position), events.Expect(last.Position))
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		if err != nil {
			return fmt.Errorf("append tombstone: %w", err)
		}
		t.erasure, t.position = j.erasure, ack.Position
		return nil
	}
	return fmt.Errorf("append tombstone: %w", events.ErrConflict)
}

func (e *Eraser) episodeTombstone(j *job, t *target, at uint64) events.Commit {
	agg := events.Aggregate{Tenant: j.token, Kind: events.KindEpisode, ID: t.ID}
	return e.commit(j, agg, at, []events.Event{events.EpisodeForgotten{Subject: t.Subject, Erasure: j.erasure}})
}
