package producers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// Capture keeps one episode. It is answered when the log has it. An episode of
// external trust goes to the quarantine instead.
func (g *Gateway) Capture(ctx context.Context, caller events.Caller, key string, r CaptureRequest) (Captured, error) {
	now := g.clock()
	if err := permit(caller, events.RoleAgent, events.RoleAdmin); err != nil {
		return Captured{}, err
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate(now, caller.Trust)); err != nil {
		return Captured{}, err
	}
	w, err := g.prepare(ctx, caller, command{name: cmdCapture, principal: caller.Principal, key: key}, r)
	if err != nil {
		return Captured{}, err
	}
	if err := g.admit(ctx, w.tenant, "text", r.Text); err != nil {
		return Captured{}, err
	}
	return g.capture(ctx, w, r, caller.Trust, now)
}

// capture carries out a valid capture.
func (g *Gateway) capture(ctx context.Context, w *work, r CaptureRequest, channel events.Trust, now time.Time) (Captured, error) {
	w.aim(r)
	if err := g.begin(ctx, w); err != nil {
		return Captured{}, err
	}
	c, err := w.episodeCommit(r, lowered(r.ChannelTrust, channel), now)
	if err != nil {
		return Captured{}, err
	}
	return g.finishCapture(ctx, w, c)
}

// aim points the work at the subject and class of the episode.
func (w *work) aim(r CaptureRequest) {
	w.subject = r.Subject
	w.category = classOf(w.tenant, r.Category)
	w.locate = func(string) (events.Kind, string) { return events.KindEpisode, w.id }
}

// finishCapture appends an episode, or puts it into quarantine.
func (g *Gateway) finishCapture(ctx context.Context, w *work, c events.Commit) (Captured, error) {
	if trustOf(c) == events.TrustExternal {
		m, err := events.Encode(c)
		if err != nil {
			return Captured{}, fmt.Errorf("encode episode: %w", err)
		}
		if err := g.quarantine.Put(ctx, c.Aggregate.Tenant, w.id, m); err != nil {
			return Captured{}, fmt.Errorf("quarantine episode: %w", err)
		}
		return Captured{ID: w.id, Status: StatusQuarantined}, nil
	}
	position, err := g.appendEpisode(ctx, w, c)
	if err != nil {
		return Captured{}, err
	}
	return Captured{ID: w.id, Position: position, Status: StatusCaptured}, nil
}

func trustOf(c events.Commit) events.Trust {
	for _, e := range c.Events {
		if e, ok := e.(events.EpisodeCaptured); ok {
			return e.Trust
		}
	}
	return 0
}

// appendEpisode appends the first commit of an episode. If the episode is
// there already it is this command's own exactly when the record's key opens
// it: an earlier attempt, or one that runs right now. Else it was forgotten.
func (g *Gateway) appendEpisode(ctx context.Context, w *work, c events.Commit) (uint64, error) {
	ack, err := g.log.Append(ctx, c, events.ExpectNew)
	switch {
	case err == nil && !ack.Duplicate:
		return ack.Position, nil
	case err != nil && !errors.Is(err, events.ErrConflict):
		return 0, fmt.Errorf("append episode: %w", err)
	}
	last, err := g.log.Last(ctx, c.Aggregate)
	if errors.Is(err, events.ErrNoCommits) {
		return 0, g.forgotten(ctx, w)
	}
	if err != nil {
		return 0, fmt.Errorf("read episode: %w", err)
	}
	for _, e := range last.Events {
		if e, ok := e.(events.EpisodeCaptured); ok && w.opens(events.KindEpisode, events.TypeEpisodeCaptured, e.Content) {
			return last.Position, nil
		}
	}
	return 0, g.forgotten(ctx, w)
}

// opens says whether the content was sealed with the record's present key.
func (w *work) opens(kind events.Kind, eventType string, content []byte) bool {
	plain, err := w.rec.Open(label(kind, w.id, eventType), content)
	clear(plain)
	return err == nil
}

// episodeCommit is the commit of a valid capture, sealed.
func (w *work) episodeCommit(r CaptureRequest, trust events.Trust, now time.Time) (events.Commit, error) {
	t, scope := w.tenant, w.rec.Scope()
	content, err := sealContent(w.rec, events.KindEpisode, events.TypeEpisodeCaptured, events.EpisodeContent{
		Subject: r.Subject, Text: r.Text, Session: r.Session, Actors: r.Actors, Action: r.Action,
		Outcome: r.Outcome, Source: r.Source, Category: r.Category, Entities: r.Entities, Metadata: r.Metadata,
	})
	if err != nil {
		return events.Commit{}, err
	}
	labels, err := labelTokens(t, r)
	if err != nil {
		return events.Commit{}, err
	}
	e := events.EpisodeCaptured{
		Subject:         scope.Subject,
		Class:           scope.Class,
		OccurredAt:      events.Micro(r.OccurredAt.Or(now)),
		OccurredUnknown: r.OccurredAt == nil,
		Trust:           trust,
		Session:         token.Session(t, r.Session),
		Source:          token.Source(t, r.Source),
		Revision:        token.Revision(t, r.Source.Revision),
		Entities:        entityTokens(t, r.Entities),
		Labels:          labels,
		Content:         content,
	}
	if r.Sensitivity != "normal" {
		e.Sensitivity = r.Sensitivity
	}
	return events.Commit{
		ID:        w.id,
		Aggregate: events.Aggregate{Tenant: t.Token(), Kind: events.KindEpisode, ID: w.id},
		Time:      now,
		Principal: w.principal,
		Events:    []events.Event{e},
	}, nil
}

// entityTokens are sorted and distinct, so that their order tells nothing.
func entityTokens(t *seal.Tenant, entities []string) []string {
	tokens := token.Each(t, token.Entity, entities...)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

func labelTokens(t *seal.Tenant, r CaptureRequest) ([]string, error) {
	tokens := make([]string, 0, len(r.Metadata))
	for _, k := range slices.Sorted(maps.Keys(r.Metadata)) {
		l, err := token.Label(t, k, r.Metadata[k])
		if err != nil {
			return nil, fmt.Errorf("make label: %w", err)
		}
		tokens = append(tokens, l)
	}
	slices.Sort(tokens)
	return tokens, nil
}
