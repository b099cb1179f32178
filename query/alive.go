package query

import (
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index"
)

// aliveEpisode returns the row of an episode, nil if it is not there or was
// forgotten, itself or with its subject, or while that is under a legal hold.
func aliveEpisode(snap *projectors.Snapshot, tenant, id string) (*projectors.EpisodeRow, error) {
	row, err := snap.Episode(tenant, id)
	return showable(snap, &row, err)
}

// aliveEpisodeAt does the same for an episode whose place is known.
func aliveEpisodeAt(snap *projectors.Snapshot, tenant, sid, id string, position uint64) (*projectors.EpisodeRow, error) {
	row, err := snap.EpisodeAt(tenant, sid, id, position)
	return showable(snap, &row, err)
}

func showable(snap *projectors.Snapshot, row *projectors.EpisodeRow, err error) (*projectors.EpisodeRow, error) {
	if errors.Is(err, events.ErrNotFound) {
		return nil, nil //nolint:nilnil // The absence of a row is an answer.
	}
	if err != nil {
		return nil, fmt.Errorf("read episode: %w", err)
	}
	if row.Forgotten || snap.Held(row.Tenant, row.Subject) {
		return nil, nil //nolint:nilnil // As above.
	}
	return row, nil
}

// aliveFact does the same for a fact, which is also gone with all its sources.
func aliveFact(snap *projectors.Snapshot, tenant, id string) (*projectors.FactRow, error) {
	row, err := snap.Fact(tenant, id)
	if errors.Is(err, events.ErrNotFound) {
		return nil, nil //nolint:nilnil // The absence of a row is an answer.
	}
	if err != nil {
		return nil, fmt.Errorf("read fact: %w", err)
	}
	if row.Status == events.StatusDeleted || snap.Held(tenant, row.Subject) {
		return nil, nil //nolint:nilnil // As above.
	}
	return &row, nil
}

// alive reports whether a memory may be shown still.
func alive(snap *projectors.Snapshot, tenant string, kind index.Kind, id string) (bool, error) {
	if kind == index.Episode {
		row, err := aliveEpisode(snap, tenant, id)
		return row != nil, err
	}
	row, err := aliveFact(snap, tenant, id)
	return row != nil, err
}
