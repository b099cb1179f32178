package projectors

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/annals-memory/annals/events"
)

// The bounds of a chunk: what is decoded ahead and folded in one batch.
const (
	chunkMessages = 1_000
	chunkBytes    = 4 << 20
	// chunksAhead is the number of chunks that may wait to be folded, beside the one that is folded and the one that is made.
	chunksAhead = 2
)

// item is one message that a projection wants, decoded.
type item struct {
	subject  string
	position uint64
	commit   string
	// types are the types as they stand in the message; events are of their current ones.
	types []string
	rec   events.Recorded
	// err is a *parkError if the message cannot be decoded or prepared.
	err error
	// opened is what prepare made of each event.
	opened []opened
}

// mark is a message that was passed.
type mark struct {
	position uint64
	commit   string
}

// chunk is a stretch of the log.
type chunk struct {
	// spec is the projection that its items were prepared for.
	spec  *spec
	items []item
	last  mark
	// messages counts those in the stretch, wanted or not.
	messages int
	pending  uint64
}

func newItem(m *events.Message) item {
	it := item{subject: m.Subject, position: m.Position, commit: m.Header.ID, types: m.Header.Types}
	rec, err := events.Decode(*m)
	switch {
	case errors.Is(err, events.ErrUnknownType):
		it.err = park(causeUnknownType)
	case err != nil:
		it.err = park(causeCorrupt)
	case !placed(&rec):
		it.err = park(causeMisplaced)
	case slices.ContainsFunc(rec.Events, func(e events.Event) bool { return !wellFormed(e) }):
		it.err = park(causeBadToken)
	}
	it.rec = rec
	return it
}

// placed reports whether every event is on an aggregate of the kind it belongs to, and names it.
func placed(r *events.Recorded) bool {
	for _, e := range r.Events {
		if kind, id := home(e); kind != r.Aggregate.Kind || (id != "" && id != r.Aggregate.ID) {
			return false
		}
	}
	return true
}

// home is the kind of aggregate that an event belongs to, and its id if that is fixed.
func home(e events.Event) (events.Kind, string) {
	switch e.(type) {
	case events.EpisodeCaptured, events.EpisodeQuarantined, events.EpisodeDropped, events.EpisodeForgotten:
		return events.KindEpisode, ""
	case events.FactProposed, events.FactDecided, events.FactReviewed, events.FactReopened, events.FactRestored, events.FactPromoted, events.FactSuperseded, events.FactCorroborated,
		events.FactRetracted, events.FactSourceLost, events.FactForgotten:
		return events.KindFact, ""
	case events.SubjectRegistered, events.SubjectForgotten, events.SubjectHeld, events.SubjectReleased,
		events.ConsentGranted, events.ConsentWithdrawn, events.SubjectExported:
		return events.KindSubject, ""
	case events.SourceRevised:
		return events.KindSource, ""
	case events.ValueSuppressed, events.SuppressionRemoved:
		return events.KindSuppression, events.SharedID
	case events.ErasureRequested, events.ErasureAdvanced:
		return events.KindErasure, ""
	case events.VectorEmbedded:
		return events.KindVector, events.SharedID
	case events.TraceRecalled, events.TraceUsed, events.TraceJudged:
		return events.KindTrace, events.SharedID
	case events.PolicyActivated:
		return events.KindPolicy, ""
	}
	return "", ""
}

// wants tells by the types in a header whether a message must be decoded. A type that is unknown here, or in another
// version, but of a family that the projection folds, is wanted: it parks.
type wants struct {
	spec *spec
	seen map[string]bool
}

// knownTypes bounds what wants remembers.
const knownTypes = 1_000

func (w *wants) message(h *events.Header) bool {
	if len(h.Types) == 0 {
		return true
	}
	for _, t := range h.Types {
		yes, ok := w.seen[t]
		if !ok {
			yes = w.spec.wantsType(t)
			if len(w.seen) < knownTypes {
				w.seen[t] = yes
			}
		}
		if yes {
			return true
		}
	}
	return false
}

// spec is one projection.
type spec struct {
	name string
	// format names what the rows mean; a view of another format is built anew, unless it has a recipe that can be read.
	format string
	// recipe is what the search index is made with, zero if there is none.
	recipe Recipe
	// families are the beginnings of the types that are folded, except are beginnings among them that are not.
	families, except []string
	// folder begins a fold over a generation.
	folder func(e *engine) (folder, error)
	// prepare does what can be done before folding; it may run beside a fold. An error is fatal.
	prepare func(ctx context.Context, items []item) error
}

// itself is the projection where there is no other that could take its place.
func (s *spec) itself() *spec { return s }

// ready prepares items, if there is anything to prepare.
func (s *spec) ready(ctx context.Context, items []item) error {
	if s.prepare == nil || len(items) == 0 {
		return nil
	}
	return s.prepare(ctx, items)
}

func (s *spec) wantsType(typ string) bool {
	for _, e := range s.except {
		if strings.HasPrefix(typ, e) {
			return false
		}
	}
	for _, f := range s.families {
		if strings.HasPrefix(typ, f) {
			return true
		}
	}
	return false
}

// micros is the number of unix microseconds.
func micros(t time.Time) int64 { return t.UnixMicro() }
