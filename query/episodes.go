package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors"
	"github.com/annals-memory/annals/projectors/index"
)

// Episode returns one episode. The errors are ErrForbidden, ErrNotFound,
// ErrForgotten, ErrDamaged and ErrBehind.
func (s *Service) Episode(ctx context.Context, caller events.Caller, req RecordRequest) (EpisodeAnswer, error) {
	r, err := s.open(ctx, caller, req.WaitFor, events.RoleAgent, events.RoleReviewer, events.RoleAdmin)
	if err != nil {
		return EpisodeAnswer{}, err
	}
	defer r.close()
	id := token.CanonicalID(req.ID)
	if id == "" || r.tenant == nil {
		return EpisodeAnswer{}, events.ErrNotFound
	}
	row, err := r.snap.Episode(r.token, id)
	switch {
	case errors.Is(err, events.ErrNotFound):
		return EpisodeAnswer{}, s.absent(ctx, r, id)
	case err != nil:
		return EpisodeAnswer{}, fmt.Errorf("read episode: %w", err)
	case r.snap.Held(r.token, row.Subject):
		return EpisodeAnswer{}, events.ErrNotFound
	case row.Forgotten:
		return EpisodeAnswer{}, events.ErrForgotten
	}
	episodes, err := s.episodes(ctx, r, []projectors.EpisodeRow{row})
	if err != nil {
		return EpisodeAnswer{}, err
	}
	if len(episodes) == 0 {
		return EpisodeAnswer{}, s.unseen(ctx, r, events.KindEpisode, id, row.Subject)
	}
	if episodes, _ = withhold(r, episodes); len(episodes) == 0 {
		return EpisodeAnswer{}, events.ErrNotFound
	}
	if err := s.heardEpisodes(ctx, caller, r, row.Subject, episodes); err != nil {
		return EpisodeAnswer{}, err
	}
	return EpisodeAnswer{Episode: episodes[0], Position: r.snap.Position()}, nil
}

// Episodes lists the episodes of one subject in the order of their capture, page
// by page, with the guarantees and the errors of [Service.Facts].
func (s *Service) Episodes(ctx context.Context, caller events.Caller, req EpisodesRequest) (EpisodesAnswer, error) {
	if !caller.Has(events.RoleAgent, events.RoleReviewer, events.RoleAdmin) {
		return EpisodesAnswer{}, events.ErrForbidden
	}
	if err := req.validate(); err != nil {
		return EpisodesAnswer{}, err
	}
	r, err := s.open(ctx, caller, req.WaitFor, events.RoleAgent, events.RoleReviewer, events.RoleAdmin)
	if err != nil {
		return EpisodesAnswer{}, err
	}
	defer r.close()
	answer := EpisodesAnswer{Episodes: []Episode{}, Position: r.snap.Position()}
	after, err := r.after(req.question(), req.Cursor)
	if err != nil {
		return EpisodesAnswer{}, err
	}
	sid, ok, err := r.subject(ctx, req.Subject)
	if err != nil || !ok || r.silent(sid) {
		return answer, err
	}
	filter := projectors.EpisodeFilter{
		Subject: sid, Session: token.Session(r.tenant, req.Session), After: after, Limit: limitOf(req.Limit),
	}
	if req.From != nil {
		filter.From = &req.From.Time
	}
	if req.To != nil {
		filter.To = &req.To.Time
	}
	rows, next, err := r.snap.Episodes(r.token, filter)
	if err != nil {
		return EpisodesAnswer{}, fmt.Errorf("list episodes: %w", err)
	}
	if answer.Episodes, err = s.episodes(ctx, r, rows); err != nil {
		return EpisodesAnswer{}, err
	}
	answer.Episodes, answer.Omitted = withhold(r, answer.Episodes)
	err = s.heardEpisodes(ctx, caller, r, sid, answer.Episodes)
	if errors.Is(err, events.ErrForgotten) { // meanwhile: then there are none
		return EpisodesAnswer{Episodes: []Episode{}, Position: answer.Position}, nil
	}
	if err != nil {
		return EpisodesAnswer{}, err
	}
	answer.Cursor = encodeCursor(r.tenant, req.question(), next)
	return answer, nil
}

// question is what a cursor belongs to: all of the request but where to go on.
func (r *EpisodesRequest) question() string {
	return join("episodes", token.NFC(r.Subject), token.NFC(r.Session), timeOf(r.From), timeOf(r.To))
}

// episodes opens rows, looks for tombstones and holds once more and turns what is left
// into answers.
func (s *Service) episodes(ctx context.Context, r *reading, rows []projectors.EpisodeRow) ([]Episode, error) {
	out := make([]Episode, 0, len(rows))
	if len(rows) == 0 {
		return out, nil
	}
	current, err := r.current()
	if err != nil {
		return nil, err
	}
	items := make([]seal.Item, len(rows))
	for i := range rows {
		items[i] = episodeItem(&rows[i])
	}
	opened, err := s.openAll(ctx, items)
	if err != nil {
		return nil, err
	}
	fresh, err := s.views.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	defer fresh.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	for i := range rows {
		if opened[i] == nil {
			continue
		}
		ok, err := alive(fresh, rows[i].Tenant, index.Episode, rows[i].ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		content, err := parse[events.EpisodeContent](opened[i])
		if err != nil {
			return nil, err
		}
		e := newEpisode(&rows[i], &content)
		e.Retired, e.Suspicious = !current.Episode(&rows[i]), s.suspiciousEpisode(&rows[i], &content)
		out = append(out, e)
	}
	return out, nil
}

func newEpisode(row *projectors.EpisodeRow, c *events.EpisodeContent) Episode {
	e := Episode{
		ID: row.ID, Subject: c.Subject, Text: c.Text, OccurredAt: events.At(row.OccurredAt),
		OccurredUnknown: row.OccurredUnknown, Session: c.Session, Actors: c.Actors, Action: c.Action,
		Outcome: c.Outcome, Source: c.Source, Trust: row.Trust, Sensitivity: row.Sensitivity, Category: c.Category,
		Entities: c.Entities, Metadata: c.Metadata, RecordedAt: events.At(row.RecordedAt), Recorded: row.Position,
	}
	if e.Actors == nil {
		e.Actors = []events.Actor{}
	}
	if e.Entities == nil {
		e.Entities = []string{}
	}
	if e.Metadata == nil {
		e.Metadata = map[string]jsontext.Value{}
	}
	return e
}
