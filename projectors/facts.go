package projectors

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/events"
)

// factsSpec is the projection of fact slots. It opens nothing that is sealed.
func factsSpec() *spec {
	return &spec{
		name:     Facts,
		format:   "facts/6",
		families: []string{"annals.fact.", "annals.episode.", "annals.subject.", "annals.source."},
		except:   []string{"annals.episode.captured.", "annals.subject.registered.", "annals.subject.consent_"},
		folder: func(e *engine) (folder, error) {
			f := &facts{}
			f.slots = newSlotFold(e, f, true)
			return f, nil
		},
	}
}

type facts struct{ slots *slotFold }

func (f *facts) fold(ctx context.Context, it *item) error {
	switch it.rec.Aggregate.Kind {
	case events.KindFact:
		return f.slots.fold(ctx, it)
	case events.KindEpisode, events.KindSubject:
		return f.slots.foldTombs(ctx, it)
	case events.KindSource:
		return f.slots.e.revise(&it.rec)
	case events.KindProcedure, events.KindTrajectory, events.KindPolicy, events.KindVector,
		events.KindTrace, events.KindErasure, events.KindSuppression:
	}
	return nil
}

func (f *facts) flush(context.Context, *pebble.Batch) error { return nil }

func (f *facts) applied() { f.slots.cache.trim() }

func (f *facts) check(context.Context, *item, *slotState, []deadFact) error { return nil }

func (f *facts) changed(context.Context, *slotState, *factState, uint64) error { return nil }

func (f *facts) dropped(context.Context, string, string, string) error { return nil }

func (f *facts) episodeGone(context.Context, string, string, string) error { return nil }

func (f *facts) stages() []clearStage { return f.slots.stages() }

// foldTombs folds the tombstones of a commit of an episode or a subject, and the legal holds.
func (f *slotFold) foldTombs(ctx context.Context, it *item) error {
	for _, e := range it.rec.Events {
		var err error
		switch e := e.(type) {
		case events.EpisodeForgotten:
			err = f.forgetEpisode(ctx, &it.rec, e)
		case events.SubjectForgotten:
			err = f.forgetSubject(ctx, &it.rec, e)
		case events.SubjectHeld:
			err = f.e.hold(ctx, &it.rec, e.Hold)
		case events.SubjectReleased:
			err = f.e.lift(ctx, &it.rec, e.Hold)
		default:
		}
		if err != nil {
			return err
		}
	}
	return nil
}
