package eventstest

import "github.com/annals-memory/annals/events"

// Sample is an event of the given type with every field set to what it could
// be in earnest. It is always the same, and nil if there is no such type.
func Sample(typ string) events.Event {
	const (
		episode  = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a01"
		fact     = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a02"
		older    = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a03"
		erasure  = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a04"
		trace    = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a05"
		subject  = "mfrggzdfmztwq2lknnwg23tpoa"
		class    = "ge3tqnbrgq2dcmjqgy4dgmjzge"
		category = "nbswy3dpfqqho33snrscc4tfmq"
	)
	policy := events.PolicyRef{
		Name: "default", Version: 3,
		Hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	}
	sealed := []byte("\x01sealed bytes of a record")
	guard := events.Guard{Rules: policy.Hash, Score: 35, Hits: []string{"tool-call"}, Secrets: 1, Personal: []string{"email"}}
	ref := events.SourceRef{
		Episode: episode, Subject: subject, Source: "orsxg5dtn52xey3fon2hezlbnu", Revision: "ojsxm2ltnfxw4", At: 17,
	}
	switch typ {
	case events.TypeEpisodeCaptured:
		return events.EpisodeCaptured{
			Subject: subject, Class: class, OccurredAt: Epoch(), OccurredUnknown: true,
			Trust: events.TrustTool, Sensitivity: "health", Session: "kn3xg3dpnzswk3tbnvsxezlbnq",
			Source: "orsxg5dtn52xey3fon2hezlbnu", Entities: []string{"mvxhi2lupfxw4zi"},
			Labels: []string{"nrqwezlmn5xgk"}, Revision: ref.Revision, Traces: []string{trace}, Guard: guard,
			Released: events.TrustExternal, Content: sealed,
		}
	case events.TypeEpisodeQuarantined:
		return events.EpisodeQuarantined{
			Subject: subject, Class: class, Trust: events.TrustExternal, Until: Day(1), Guard: guard, Hash: policy.Hash,
		}
	case events.TypeEpisodeDropped:
		return events.EpisodeDropped{Subject: subject, Expired: true, Content: sealed}
	case events.TypeSourceRevised:
		return events.SourceRevised{Revision: ref.Revision, EffectiveAt: Epoch()}
	case events.TypeEpisodeForgotten:
		return events.EpisodeForgotten{Subject: subject, Erasure: erasure}
	case events.TypeFactProposed:
		return events.FactProposed{
			Fact: fact, Subject: subject, Class: class, Predicate: "obzgkzdjmnqxizi",
			Scope: "onrw64df", Category: category, Confidence: 0.97, Trust: events.TrustUser,
			ObservedAt: Epoch(), ValidFrom: Day(-30), ValidTo: Day(335), ExpiresAt: Day(400),
			Sources: []events.SourceRef{ref}, Traces: []string{trace}, Guard: guard, Edits: older, Content: sealed,
		}
	case events.TypeFactDecided:
		return events.FactDecided{
			Fact: fact, Decision: events.DecisionPromote, Policy: policy, Into: fact,
			Gates: []events.Gate{
				{Gate: "identity", Outcome: events.DecisionPromote, Reason: "ok"},
				{Gate: "confidence", Outcome: events.DecisionPromote, Reason: "at_least_minimum"},
			},
			Basis: events.Basis{
				Evidence: []events.EvidenceBasis{{
					Episode: episode, Found: true, Forgotten: true, Other: true, Retired: true, Trust: events.TrustTool,
					Sensitivity: "personal", Principal: class, Guard: guard,
				}},
				Context: events.TrustAgent, Consent: events.ConsentGiven, Conflict: "supersedes", Guard: guard,
				Reviews: []events.ReviewBasis{{Reviewer: class, Verdict: events.VerdictApprove}}, At: Epoch(),
			},
		}
	case events.TypeFactReviewed:
		return events.FactReviewed{Fact: fact, Verdict: events.VerdictEdit, Hash: policy.Hash, Content: sealed, Into: older}
	case events.TypeFactReopened:
		return events.FactReopened{Fact: fact}
	case events.TypeFactRestored:
		return events.FactRestored{Fact: older, Valid: Since(Day(-90)), By: fact}
	case events.TypeFactPromoted:
		return events.FactPromoted{Fact: fact, Valid: append(Between(Day(-30), Day(-20)), Since(Day(0))...)}
	case events.TypeFactSuperseded:
		return events.FactSuperseded{Fact: older, By: fact, Valid: Between(Day(-90), Day(-30))}
	case events.TypeFactCorroborated:
		return events.FactCorroborated{
			Fact: older, Candidate: fact, Sources: []events.SourceRef{ref},
		}
	case events.TypeFactRetracted:
		return events.FactRetracted{Fact: fact, Valid: Between(Day(0), Day(7)), Content: sealed}
	case events.TypeFactSourceLost:
		return events.FactSourceLost{Fact: fact, Source: episode, Erasure: erasure}
	case events.TypeFactForgotten:
		return events.FactForgotten{Fact: fact, Subject: subject, Erasure: erasure}
	case events.TypeSubjectRegistered:
		return events.SubjectRegistered{Class: class, Content: sealed}
	case events.TypeSubjectForgotten:
		return events.SubjectForgotten{Erasure: erasure}
	case events.TypeSubjectHeld:
		return events.SubjectHeld{Hold: class}
	case events.TypeSubjectReleased:
		return events.SubjectReleased{Hold: class}
	case events.TypeConsentGranted:
		return events.ConsentGranted{Category: class, Content: sealed}
	case events.TypeConsentWithdrawn:
		return events.ConsentWithdrawn{Category: class, Erasure: erasure}
	case events.TypeSubjectExported:
		return events.SubjectExported{Export: erasure, Position: 42, Count: 1_257}
	case events.TypeValueSuppressed:
		return events.ValueSuppressed{Suppression: erasure, Hashes: []string{class}}
	case events.TypeSuppressionRemoved:
		return events.SuppressionRemoved{Suppression: erasure}
	case events.TypeErasureRequested:
		return events.ErasureRequested{
			Cause: events.CauseRequest, Scope: "subject", Subject: subject, Matched: 1_257, Tombstone: 43,
		}
	case events.TypeErasureAdvanced:
		return events.ErasureAdvanced{Level: events.LevelShredded, Stores: []events.StoreProgress{
			{Store: "keys", Planned: 2, Done: 2}, {Store: "log", Planned: 1_257, Failed: 1},
		}, Late: &events.LateRecords{Records: 3, UpTo: 44}}
	case events.TypeVectorEmbedded:
		return events.VectorEmbedded{
			Record: episode, Subject: subject, Class: class, Of: events.KindEpisode, Source: 41,
			Model: "builtin-use-lite-1-512", Content: sealed, Dim: 512,
		}
	case events.TypeTraceRecalled:
		return events.TraceRecalled{
			Trace: trace, Subject: subject, Class: class, At: 42, Memories: []string{episode, fact},
			Weights: "default", Lowest: events.TrustAgent, Content: sealed,
		}
	case events.TypeTraceUsed:
		return events.TraceUsed{Trace: trace, Memories: []string{fact}, AnswerRef: "mfxhg53foi"}
	case events.TypeTraceJudged:
		return events.TraceJudged{Trace: trace, Memory: fact, Judgement: events.JudgedUseful}
	case events.TypePolicyActivated:
		return events.PolicyActivated{Policy: policy, Text: "confidence >= 0.95"}
	}
	return nil
}
