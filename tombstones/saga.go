package tombstones

import (
	"context"
	"errors"

	"github.com/annals-memory/annals/events"
)

// forget takes targets through the saga and answers.
func (e *Eraser) forget(ctx context.Context, j *job, targets []target) (Erasure, error) {
	episodes, facts := parted(targets)
	if err := e.buryEpisodes(ctx, j, episodes); err != nil {
		return Erasure{}, err
	}
	merged, err := e.buryFacts(ctx, j, facts)
	if err != nil {
		return Erasure{}, err
	}
	out := Erasure{ErasureID: j.erasure, Matched: len(targets)}
	if j.plan != nil {
		out.Matched = j.plan.Matched
	}
	if len(targets) == 1 && out.Matched == 1 {
		out.ErasureID = targets[0].erasure
	}
	gone, dead, repeated := newForgotten(), merged, j.repeated
	for i := range targets {
		t := &targets[i]
		out.Position = max(out.Position, t.position)
		dead = append(dead, t.ID)
		repeated = repeated || t.erasure != j.erasure
		if t.Kind == events.KindEpisode {
			gone.episodes[t.ID] = true
		}
	}
	if err := e.wait(ctx, out.Position); err != nil {
		return Erasure{}, err
	}
	if repeated {
		more, err := e.sameErasure(ctx, j, out.ErasureID)
		if err != nil {
			return Erasure{}, err
		}
		dead = append(dead, more...)
	}
	last, derived, err := e.cascade(ctx, j, out.ErasureID, gone)
	if err != nil {
		return Erasure{}, err
	}
	out.Level, err = e.finishKeys(ctx, j, out.ErasureID, append(dead, derived...), repeated, last)
	if err != nil {
		return Erasure{}, err
	}
	return out, nil
}

// parted gives each kind its list.
func parted(targets []target) (episodes, facts []*target) {
	for i := range targets {
		if targets[i].Kind == events.KindEpisode {
			episodes = append(episodes, &targets[i])
		} else {
			facts = append(facts, &targets[i])
		}
	}
	return episodes, facts
}

// settled waits for the views a last time. The tombstone itself has been folded
// by now, so that lagging views leave the erasure denied.
func (e *Eraser) settled(ctx context.Context, last uint64) (Level, error) {
	switch err := e.wait(ctx, last); {
	case errors.Is(err, events.ErrBehind):
		return LevelDenied, nil
	case err != nil:
		return "", err
	}
	return LevelShredded, nil
}

// sameErasure returns the ids of all records that an erasure has put a tombstone
// on, so that a repetition finishes what the first call left.
func (e *Eraser) sameErasure(ctx context.Context, j *job, erasure string) ([]string, error) {
	var ids []string
	err := e.snapshot(ctx, func(s Snapshot) error {
		for t, err := range tombstones(s, j.token) {
			if err != nil {
				return err
			}
			if t.Erasure == erasure && t.Kind != events.KindSubject {
				ids = append(ids, t.ID)
			}
		}
		return nil
	})
	return ids, err
}
