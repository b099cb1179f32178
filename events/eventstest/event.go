package eventstest

import (
	"math"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
)

// Types are the current types of all events, in the order of their
// declaration. A test of package events holds that none is missing.
func Types() []string {
	return []string{
		events.TypeEpisodeCaptured, events.TypeEpisodeQuarantined, events.TypeEpisodeDropped, events.TypeEpisodeForgotten,
		events.TypeFactProposed, events.TypeFactDecided, events.TypeFactReviewed, events.TypeFactReopened,
		events.TypeFactRestored, events.TypeFactPromoted, events.TypeFactSuperseded,
		events.TypeFactCorroborated, events.TypeFactRetracted, events.TypeFactSourceLost, events.TypeFactForgotten,
		events.TypeSubjectRegistered, events.TypeSubjectForgotten,
		events.TypeSubjectHeld, events.TypeSubjectReleased, events.TypeConsentGranted, events.TypeConsentWithdrawn,
		events.TypeSubjectExported, events.TypeValueSuppressed, events.TypeSuppressionRemoved, events.TypeSourceRevised,
		events.TypeErasureRequested, events.TypeErasureAdvanced,
		events.TypeVectorEmbedded,
		events.TypeTraceRecalled, events.TypeTraceUsed, events.TypeTraceJudged,
		events.TypePolicyActivated,
	}
}

// EventOf draws an event of the given type. It panics if there is no such type.
func EventOf(t *rapid.T, typ string) events.Event {
	switch typ {
	case events.TypeEpisodeCaptured:
		return episodeCaptured(t)
	case events.TypeEpisodeQuarantined:
		return events.EpisodeQuarantined{
			Subject: Token(t, "subject"), Class: Token(t, "class"), Trust: trust(t), Until: Time(t, "until"),
			Guard: maybe(t, "guard", guard), Hash: hash(t, "hash"),
		}
	case events.TypeEpisodeDropped:
		return events.EpisodeDropped{
			Subject: Token(t, "subject"), Expired: rapid.Bool().Draw(t, "expired"), Content: maybe(t, "note", func(t *rapid.T, _ string) []byte { return content(t) }),
		}
	case events.TypeSourceRevised:
		return events.SourceRevised{Revision: Token(t, "revision"), EffectiveAt: Time(t, "effective at")}
	case events.TypeEpisodeForgotten:
		return events.EpisodeForgotten{Subject: Token(t, "subject"), Erasure: Token(t, "erasure")}
	case events.TypeSubjectRegistered:
		return events.SubjectRegistered{Class: Token(t, "class"), Content: content(t)}
	case events.TypeSubjectForgotten:
		return events.SubjectForgotten{Erasure: Token(t, "erasure")}
	case events.TypeSubjectHeld:
		return events.SubjectHeld{Hold: Token(t, "hold")}
	case events.TypeSubjectReleased:
		return events.SubjectReleased{Hold: Token(t, "hold")}
	case events.TypeConsentGranted:
		return events.ConsentGranted{Category: Token(t, "category"), Content: content(t)}
	case events.TypeConsentWithdrawn:
		return events.ConsentWithdrawn{Category: Token(t, "category"), Erasure: Token(t, "erasure")}
	case events.TypeSubjectExported:
		return events.SubjectExported{
			Export: Token(t, "export"), Position: position(t, "position"), Count: rapid.IntRange(0, 1_000_000).Draw(t, "count"),
		}
	case events.TypeValueSuppressed:
		return events.ValueSuppressed{Suppression: Token(t, "suppression"), Hashes: list(t, "hash", Token)}
	case events.TypeSuppressionRemoved:
		return events.SuppressionRemoved{Suppression: Token(t, "suppression")}
	case events.TypeErasureRequested:
		return erasureRequested(t)
	case events.TypeErasureAdvanced:
		return erasureAdvanced(t)
	case events.TypeVectorEmbedded:
		return vectorEmbedded(t)
	case events.TypeTraceRecalled:
		return traceRecalled(t)
	case events.TypeTraceUsed:
		return events.TraceUsed{
			Trace: Token(t, "trace"), Memories: list(t, "memory", Token), AnswerRef: maybe(t, "answer", Token),
		}
	case events.TypeTraceJudged:
		return events.TraceJudged{
			Trace: Token(t, "trace"), Memory: Token(t, "memory"),
			Judgement: rapid.SampledFrom([]events.Judgement{
				events.JudgedUseful, events.JudgedIrrelevant, events.JudgedStale, events.JudgedWrong,
			}).Draw(t, "judgement"),
		}
	case events.TypePolicyActivated:
		return events.PolicyActivated{Policy: policy(t), Text: text(t, "text")}
	default:
		return FactEventOf(t, typ, Token(t, "fact"))
	}
}

// FactEventOf draws an event of the given type about the given fact. It panics
// if the type is not one of a fact slot's.
func FactEventOf(t *rapid.T, typ, fact string) events.Event {
	switch typ {
	case events.TypeFactProposed:
		return factProposed(t, fact)
	case events.TypeFactDecided:
		return factDecided(t, fact)
	case events.TypeFactReviewed:
		return events.FactReviewed{
			Fact: fact, Verdict: verdict(t), Hash: hash(t, "hash"),
			Content: maybe(t, "note", func(t *rapid.T, _ string) []byte { return content(t) }),
			Into:    maybe(t, "into", Token),
		}
	case events.TypeFactReopened:
		return events.FactReopened{Fact: fact}
	case events.TypeFactRestored:
		return events.FactRestored{Fact: fact, Valid: Intervals(t, "valid"), By: maybe(t, "by", Token)}
	case events.TypeFactPromoted:
		return events.FactPromoted{Fact: fact, Valid: Intervals(t, "valid")}
	case events.TypeFactSuperseded:
		return events.FactSuperseded{Fact: fact, By: Token(t, "by"), Valid: Intervals(t, "valid")}
	case events.TypeFactCorroborated:
		return events.FactCorroborated{Fact: fact, Candidate: Token(t, "candidate"), Sources: list(t, "source", source)}
	case events.TypeFactRetracted:
		return events.FactRetracted{Fact: fact, Valid: Intervals(t, "valid"), Content: content(t)}
	case events.TypeFactSourceLost:
		return events.FactSourceLost{Fact: fact, Source: episode(t, "source"), Erasure: Token(t, "erasure")}
	case events.TypeFactForgotten:
		return events.FactForgotten{Fact: fact, Subject: Token(t, "subject"), Erasure: Token(t, "erasure")}
	}
	panic("eventstest: no such type: " + typ)
}

func episodeCaptured(t *rapid.T) events.EpisodeCaptured {
	return events.EpisodeCaptured{
		Subject:         Token(t, "subject"),
		Class:           Token(t, "class"),
		OccurredAt:      Time(t, "occurred at"),
		OccurredUnknown: rapid.Bool().Draw(t, "occurred unknown"),
		Trust:           trust(t),
		Sensitivity:     maybe(t, "sensitivity", Token),
		Session:         maybe(t, "session", Token),
		Source:          maybe(t, "source", Token),
		Entities:        some(t, "entity", Token),
		Labels:          some(t, "label", Token),
		Revision:        maybe(t, "revision", Token),
		Traces:          some(t, "trace", Token),
		Guard:           maybe(t, "guard", guard),
		Released:        maybe(t, "released", func(t *rapid.T, _ string) events.Trust { return trust(t) }),
		Content:         content(t),
	}
}

func factProposed(t *rapid.T, fact string) events.FactProposed {
	return events.FactProposed{
		Fact:       fact,
		Subject:    Token(t, "subject"),
		Class:      Token(t, "class"),
		Predicate:  Token(t, "predicate"),
		Scope:      maybe(t, "scope", Token),
		Category:   Token(t, "category"),
		Confidence: rapid.Float64Range(0, 1).Draw(t, "confidence"),
		Trust:      trust(t),
		ObservedAt: Time(t, "observed at"),
		ValidFrom:  maybe(t, "valid from", Time),
		ValidTo:    maybe(t, "valid to", Time),
		ExpiresAt:  maybe(t, "expires at", Time),
		Sources:    list(t, "source", source),
		Traces:     some(t, "trace", Token),
		Guard:      maybe(t, "guard", guard),
		Edits:      maybe(t, "edits", Token),
		Content:    content(t),
	}
}

func guard(t *rapid.T, label string) events.Guard {
	return events.Guard{
		Rules: hash(t, label), Score: rapid.IntRange(0, 100).Draw(t, "score"),
		Hits: some(t, "hit", Token), Secrets: rapid.IntRange(0, 3).Draw(t, "secrets"),
		Personal: some(t, "personal", Token),
	}
}

func hash(t *rapid.T, label string) string {
	return rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, label)
}

func verdict(t *rapid.T) events.Verdict {
	return rapid.SampledFrom([]events.Verdict{
		events.VerdictApprove, events.VerdictReject, events.VerdictEdit,
	}).Draw(t, "verdict")
}

func basis(t *rapid.T, _ string) events.Basis {
	anyTrust := func(t *rapid.T, _ string) events.Trust { return trust(t) }
	return events.Basis{
		Evidence: some(t, "evidence", func(t *rapid.T, label string) events.EvidenceBasis {
			return events.EvidenceBasis{
				Episode: episode(t, label), Found: rapid.Bool().Draw(t, "found"),
				Forgotten: rapid.Bool().Draw(t, "forgotten"), Other: rapid.Bool().Draw(t, "other"),
				Retired: rapid.Bool().Draw(t, "retired"), Trust: maybe(t, "trust", anyTrust),
				Sensitivity: maybe(t, "sensitivity", Token),
				Principal:   maybe(t, "principal", Token), Guard: maybe(t, "guard", guard),
			}
		}),
		Context:  maybe(t, "context", anyTrust),
		Consent:  rapid.SampledFrom([]string{"", events.ConsentGiven, events.ConsentTakenBack}).Draw(t, "consent"),
		Conflict: rapid.StringMatching(`[a-z_]{0,30}`).Draw(t, "conflict"),
		Guard:    maybe(t, "guard", guard),
		Reviews: some(t, "review", func(t *rapid.T, label string) events.ReviewBasis {
			return events.ReviewBasis{Reviewer: Token(t, label), Verdict: verdict(t)}
		}),
		At: Time(t, "at"),
	}
}

func factDecided(t *rapid.T, fact string) events.FactDecided {
	outcome := rapid.SampledFrom([]events.Decision{
		events.DecisionPromote, events.DecisionReview, events.DecisionQuarantine, events.DecisionReject,
	})
	e := events.FactDecided{
		Fact:     fact,
		Decision: outcome.Draw(t, "decision"),
		Gates: list(t, "gate", func(t *rapid.T, label string) events.Gate {
			return events.Gate{
				Gate:    Token(t, label),
				Outcome: outcome.Draw(t, "outcome"),
				Reason:  rapid.StringMatching(`[a-z_]{1,30}`).Draw(t, "reason"),
			}
		}),
		Policy: policy(t),
		Basis:  maybe(t, "basis", basis),
	}
	if e.Decision == events.DecisionPromote {
		e.Into = rapid.SampledFrom([]string{fact, Token(t, "into")}).Draw(t, "which")
	}
	return e
}

func policy(t *rapid.T) events.PolicyRef {
	return events.PolicyRef{
		Name:    Token(t, "policy"),
		Version: rapid.IntRange(1, 1_000).Draw(t, "version"),
		Hash:    hash(t, "hash"),
	}
}

func vectorEmbedded(t *rapid.T) events.VectorEmbedded {
	return events.VectorEmbedded{
		Record:  Token(t, "record"),
		Subject: Token(t, "subject"),
		Class:   Token(t, "class"),
		Of:      rapid.SampledFrom([]events.Kind{events.KindEpisode, events.KindFact}).Draw(t, "of"),
		Source:  position(t, "source"),
		Model:   Token(t, "model"),
		Content: content(t),
		Dim:     rapid.IntRange(1, 4_096).Draw(t, "dim"),
	}
}

func erasureRequested(t *rapid.T) events.ErasureRequested {
	return events.ErasureRequested{
		Cause: rapid.SampledFrom([]events.Cause{
			events.CauseRequest, events.CauseConsent, events.CauseRetention, events.CauseExpiry,
		}).Draw(t, "cause"),
		Scope:     rapid.SampledFrom([]string{"record", "filter", "source", "subject", "session", "category"}).Draw(t, "scope"),
		Subject:   maybe(t, "subject", Token),
		Matched:   rapid.IntRange(0, 1_000_000).Draw(t, "matched"),
		Tombstone: position(t, "tombstone"),
	}
}

func erasureAdvanced(t *rapid.T) events.ErasureAdvanced {
	return events.ErasureAdvanced{
		Level: rapid.SampledFrom(events.Levels()).Draw(t, "level"),
		Stores: some(t, "store", func(t *rapid.T, label string) events.StoreProgress {
			return events.StoreProgress{
				Store:        rapid.SampledFrom([]string{"log", "keys", "facts", "memories"}).Draw(t, label),
				Planned:      rapid.IntRange(0, 1_000).Draw(t, "planned"),
				Done:         rapid.IntRange(0, 1_000).Draw(t, "done"),
				Failed:       rapid.IntRange(0, 1_000).Draw(t, "failed"),
				PendingUntil: maybe(t, "pending until", Time),
			}
		}),
		Late: maybe(t, "late", func(t *rapid.T, label string) *events.LateRecords {
			return &events.LateRecords{
				Records: rapid.IntRange(0, 1_000).Draw(t, label), UpTo: rapid.Uint64Max(1_000).Draw(t, "up to"),
			}
		}),
	}
}

func traceRecalled(t *rapid.T) events.TraceRecalled {
	return events.TraceRecalled{
		Trace:    Token(t, "trace"),
		Subject:  maybe(t, "subject", Token),
		Class:    Token(t, "class"),
		At:       position(t, "at"),
		Memories: list(t, "memory", Token),
		Weights:  maybe(t, "weights", Token),
		Lowest:   trust(t),
		Content:  content(t),
	}
}

// position draws any position, those included that a float64 cannot hold.
func position(t *rapid.T, label string) uint64 {
	return rapid.Uint64Range(1, math.MaxUint64).Draw(t, label)
}
