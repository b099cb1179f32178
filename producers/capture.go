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

// QuarantineScore is the score of the guardrail from which on what a tool captures
// waits in quarantine like what is external.
const QuarantineScore = 80

// Capture keeps one episode. It is answered when the log has it. An episode of
// external trust waits in quarantine instead, and so does one of a tool that looks
// much like an instruction: of these the log has no content.
//
// Unlike a proposal, a capture against a consent that was taken back, or of a text
// that is kept out, is refused to every caller alike, an external one too: nothing of
// it may be kept, so there is no episode to answer with, and an answer that it waits
// would have its sender rely on what is not there. An untrusted caller can learn by it
// that there is such a consent or such a text.
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
	return g.capture(ctx, w, r, g.captureTerms(ctx, w, caller.Trust, now), now)
}

// terms are what is known of an episode beside what its request says.
type terms struct {
	trust  events.Trust
	traces []string
	guard  events.Guard
}

// waits says whether the episode goes into quarantine.
func (t *terms) waits() bool {
	return t.trust == events.TrustExternal || t.trust == events.TrustTool && t.guard.Score >= QuarantineScore
}

// captureTerms makes what finds the terms of what one caller captures.
func (g *Gateway) captureTerms(ctx context.Context, w *work, channel events.Trust, now time.Time) func(context.Context, CaptureRequest) (terms, error) {
	// A recall that nobody knows says nothing of the text; it must not have it wait.
	h := g.hearing(ctx, w.tenant.Token(), w.principal, channel, events.TrustTool, now)
	return func(ctx context.Context, r CaptureRequest) (terms, error) {
		heard, err := h.of(ctx, r.Traces, r.Source)
		if err != nil {
			return terms{}, err
		}
		return terms{
			trust: lower(lowered(r.ChannelTrust, channel), heard.lowest), traces: heard.traces, guard: g.scan(r.content()),
		}, nil
	}
}

// capture carries out a valid capture.
func (g *Gateway) capture(ctx context.Context, w *work, r CaptureRequest, find func(context.Context, CaptureRequest) (terms, error), now time.Time) (Captured, error) {
	w.aim(r)
	found := later(func() (terms, error) { return find(ctx, r) })
	if err := g.begin(ctx, w); err != nil {
		return Captured{}, err
	}
	t, err := found()
	if err != nil {
		return Captured{}, g.unbegin(ctx, w, err)
	}
	return g.finishCapture(ctx, w, r, t, now)
}

// aim points the work at the subject and class of the episode.
func (w *work) aim(r CaptureRequest) {
	w.subject = r.Subject
	w.category = classOf(w.tenant, r.Category)
	w.refuseWithdrawn = true
	w.locate = func(string) (events.Kind, string) { return events.KindEpisode, w.id }
}

// finishCapture appends an episode, or has it wait in quarantine. A command that
// has its key already may have done so before: then the answer is the first one,
// whatever became of the episode, unless it is gone.
func (g *Gateway) finishCapture(ctx context.Context, w *work, r CaptureRequest, t terms, now time.Time) (Captured, error) {
	if w.existed {
		if done, err := g.captured(ctx, w); !errors.Is(err, events.ErrNoCommits) {
			return done, err
		}
	}
	c, err := w.episodeCommit(r, t, now)
	if err != nil {
		return Captured{}, err
	}
	status := StatusCaptured
	if t.waits() {
		if c, err = g.detain(ctx, w, c); err != nil {
			return Captured{}, err
		}
		status = StatusQuarantined
	}
	ack, err := g.log.Append(ctx, c, events.ExpectNew)
	switch {
	case err == nil && !ack.Duplicate:
		return Captured{ID: w.id, Position: ack.Position, Status: status}, nil
	case err != nil && !errors.Is(err, events.ErrConflict):
		return Captured{}, fmt.Errorf("append episode: %w", err)
	}
	done, err := g.captured(ctx, w)
	if errors.Is(err, events.ErrNoCommits) {
		return Captured{}, g.forgotten(ctx, w)
	}
	return done, err
}

// captured is the first answer of a command whose episode is in the log: it is this
// command's own exactly when the record's key opens it, be it an earlier attempt or
// one that runs right now. Else it was forgotten. events.ErrNoCommits is an episode
// that is not there.
func (g *Gateway) captured(ctx context.Context, w *work) (Captured, error) {
	a := events.Aggregate{Tenant: w.tenant.Token(), Kind: events.KindEpisode, ID: w.id}
	var (
		done  Captured
		found bool
		own   bool
	)
	for r, err := range g.log.ReadAggregate(ctx, a, 0) {
		if err != nil {
			return Captured{}, fmt.Errorf("read episode: %w", err)
		}
		for _, e := range r.Events {
			status := StatusCaptured
			switch e := e.(type) {
			case events.EpisodeCaptured:
				own = w.opens(events.KindEpisode, events.TypeEpisodeCaptured, e.Content)
			case events.EpisodeQuarantined:
				status = StatusQuarantined
				var err error
				if own, err = g.isOurs(ctx, w); err != nil {
					return Captured{}, err
				}
			default: // it is gone
				own = false
			}
			if !found {
				found, done = true, Captured{ID: w.id, Position: r.Position, Status: status}
			}
		}
	}
	switch {
	case !found:
		return Captured{}, events.ErrNoCommits
	case !own:
		return Captured{}, g.forgotten(ctx, w)
	}
	return done, nil
}

// opens says whether the content was sealed with the record's present key.
func (w *work) opens(kind events.Kind, eventType string, content []byte) bool {
	plain, err := w.rec.Open(label(kind, w.id, eventType), content)
	clear(plain)
	return err == nil
}

// episodeCommit is the commit of a valid capture, sealed.
func (w *work) episodeCommit(r CaptureRequest, known terms, now time.Time) (events.Commit, error) {
	t, scope := w.tenant, w.rec.Scope()
	content, err := sealContent(w.rec, events.KindEpisode, events.TypeEpisodeCaptured, r.content())
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
		Trust:           known.trust,
		Session:         token.Session(t, r.Session),
		Source:          token.Source(t, r.Source),
		Revision:        token.Revision(t, r.Source.Revision),
		Entities:        entityTokens(t, r.Entities),
		Labels:          labels,
		Traces:          known.traces,
		Guard:           known.guard,
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
