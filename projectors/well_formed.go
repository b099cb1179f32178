package projectors

import (
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
)

// wellFormed reports whether all that an event brings into keys and into the search index has the form of tokens. It is
// asked before any fold, so that a fold cannot stumble over it after its first write.
func wellFormed(e events.Event) bool {
	switch e := e.(type) {
	case events.EpisodeCaptured:
		return events.ValidToken(e.Subject) && optionalTokens(e.Class, e.Session, e.Source, e.Revision) && tokens(e.Entities) &&
			tokens(e.Labels)
	case events.EpisodeQuarantined:
		return events.ValidToken(e.Subject) && optionalTokens(e.Class)
	case events.EpisodeDropped:
		return events.ValidToken(e.Subject)
	case events.EpisodeForgotten:
		return optionalTokens(e.Subject) // one of nobody folds to nothing
	case events.SourceRevised:
		return events.ValidToken(e.Revision)
	case events.FactProposed:
		return events.ValidToken(e.Fact) && events.ValidToken(e.Subject) && sourceTokens(e.Sources) &&
			optionalTokens(e.Class, e.Predicate, e.Scope, e.Category)
	case events.FactCorroborated:
		return sourceTokens(e.Sources)
	case events.FactForgotten:
		return events.ValidToken(e.Fact) && events.ValidToken(e.Subject)
	case events.VectorEmbedded:
		return events.ValidToken(e.Record) && events.ValidToken(e.Subject) && e.Model != "" && len(e.Model) <= maxPart &&
			(e.Of == events.KindEpisode || e.Of == events.KindFact)
	case events.TraceRecalled:
		return events.ValidToken(e.Trace) && optionalTokens(e.Subject, e.Class)
	case events.TraceUsed:
		return events.ValidToken(e.Trace)
	case events.TraceJudged:
		return events.ValidToken(e.Trace) && events.ValidToken(e.Memory)
	case events.SubjectHeld:
		return events.ValidToken(e.Hold)
	case events.SubjectReleased:
		return events.ValidToken(e.Hold)
	case events.ConsentGranted:
		return events.ValidToken(e.Category)
	case events.ConsentWithdrawn:
		return events.ValidToken(e.Category)
	case events.ErasureRequested:
		return optionalTokens(e.Subject)
	case events.FactReviewed, events.FactReopened, events.FactRestored,
		events.FactDecided, events.FactPromoted, events.FactSuperseded, events.FactRetracted, events.FactSourceLost,
		events.SubjectRegistered, events.SubjectForgotten, events.PolicyActivated, events.ErasureAdvanced,
		events.SubjectExported, events.ValueSuppressed, events.SuppressionRemoved:
	}
	return true
}

func sourceTokens(sources []events.SourceRef) bool {
	for _, s := range sources {
		if !events.ValidToken(s.Episode) || !optionalTokens(s.Subject, s.Source, s.Revision) {
			return false
		}
	}
	return true
}

func optionalTokens(list ...string) bool {
	for _, t := range list {
		if t != "" && !events.ValidToken(t) {
			return false
		}
	}
	return true
}

func tokens(list []string) bool {
	if len(list) >= index.MaxList {
		return false
	}
	for _, t := range list {
		if !events.ValidToken(t) {
			return false
		}
	}
	return true
}
