package events

// Event is one thing that happened. The union is sealed: every type is in this
// package, and a switch over it that misses one fails lint.
//
//sumtype:decl
type Event interface {
	isEvent()
}

func (EpisodeCaptured) isEvent()    {}
func (EpisodeQuarantined) isEvent() {}
func (EpisodeDropped) isEvent()     {}
func (EpisodeForgotten) isEvent()   {}
func (FactProposed) isEvent()       {}
func (FactDecided) isEvent()        {}
func (FactReviewed) isEvent()       {}
func (FactReopened) isEvent()       {}
func (FactRestored) isEvent()       {}
func (FactPromoted) isEvent()       {}
func (FactSuperseded) isEvent()     {}
func (FactCorroborated) isEvent()   {}
func (FactRetracted) isEvent()      {}
func (FactSourceLost) isEvent()     {}
func (FactForgotten) isEvent()      {}
func (SubjectRegistered) isEvent()  {}
func (SubjectForgotten) isEvent()   {}
func (SubjectHeld) isEvent()        {}
func (SubjectReleased) isEvent()    {}
func (ConsentGranted) isEvent()     {}
func (ConsentWithdrawn) isEvent()   {}
func (SubjectExported) isEvent()    {}
func (ValueSuppressed) isEvent()    {}
func (SuppressionRemoved) isEvent() {}
func (SourceRevised) isEvent()      {}
func (ErasureRequested) isEvent()   {}
func (ErasureAdvanced) isEvent()    {}
func (VectorEmbedded) isEvent()     {}
func (TraceRecalled) isEvent()      {}
func (TraceUsed) isEvent()          {}
func (TraceJudged) isEvent()        {}
func (PolicyActivated) isEvent()    {}

// The type names as they stand in the log. A change of meaning or shape is a
// new version and an upcaster; a name is never reused.
const (
	TypeEpisodeCaptured    = "annals.episode.captured.v2"
	TypeEpisodeQuarantined = "annals.episode.quarantined.v1"
	TypeEpisodeDropped     = "annals.episode.dropped.v1"
	TypeEpisodeForgotten   = "annals.episode.forgotten.v1"
	TypeFactProposed       = "annals.fact.proposed.v1"
	TypeFactDecided        = "annals.fact.decided.v1"
	TypeFactReviewed       = "annals.fact.reviewed.v1"
	TypeFactReopened       = "annals.fact.reopened.v1"
	TypeFactRestored       = "annals.fact.restored.v1"
	TypeFactPromoted       = "annals.fact.promoted.v1"
	TypeFactSuperseded     = "annals.fact.superseded.v1"
	TypeFactCorroborated   = "annals.fact.corroborated.v1"
	TypeFactRetracted      = "annals.fact.retracted.v1"
	TypeFactSourceLost     = "annals.fact.source_lost.v1"
	TypeFactForgotten      = "annals.fact.forgotten.v1"
	TypeSubjectRegistered  = "annals.subject.registered.v1"
	TypeSubjectForgotten   = "annals.subject.forgotten.v1"
	TypeSubjectHeld        = "annals.subject.held.v1"
	TypeSubjectReleased    = "annals.subject.released.v1"
	TypeConsentGranted     = "annals.subject.consent_granted.v1"
	TypeConsentWithdrawn   = "annals.subject.consent_withdrawn.v1"
	TypeSubjectExported    = "annals.subject.exported.v1"
	TypeValueSuppressed    = "annals.suppression.added.v1"
	TypeSuppressionRemoved = "annals.suppression.removed.v1"
	TypeSourceRevised      = "annals.source.revised.v1"
	TypeErasureRequested   = "annals.erasure.requested.v1"
	TypeErasureAdvanced    = "annals.erasure.advanced.v1"
	TypeVectorEmbedded     = "annals.vector.embedded.v1"
	TypeTraceRecalled      = "annals.trace.recalled.v1"
	TypeTraceUsed          = "annals.trace.used.v1"
	TypeTraceJudged        = "annals.trace.judged.v1"
	TypePolicyActivated    = "annals.policy.activated.v1"
)

// TypeOf is the current type name of e, as it is written.
func TypeOf(e Event) string {
	switch e.(type) {
	case EpisodeCaptured:
		return TypeEpisodeCaptured
	case EpisodeQuarantined:
		return TypeEpisodeQuarantined
	case EpisodeDropped:
		return TypeEpisodeDropped
	case EpisodeForgotten:
		return TypeEpisodeForgotten
	case FactProposed:
		return TypeFactProposed
	case FactDecided:
		return TypeFactDecided
	case FactReviewed:
		return TypeFactReviewed
	case FactReopened:
		return TypeFactReopened
	case FactRestored:
		return TypeFactRestored
	case FactPromoted:
		return TypeFactPromoted
	case FactSuperseded:
		return TypeFactSuperseded
	case FactCorroborated:
		return TypeFactCorroborated
	case FactRetracted:
		return TypeFactRetracted
	case FactSourceLost:
		return TypeFactSourceLost
	case FactForgotten:
		return TypeFactForgotten
	case SubjectRegistered:
		return TypeSubjectRegistered
	case SubjectForgotten:
		return TypeSubjectForgotten
	case SubjectHeld:
		return TypeSubjectHeld
	case SubjectReleased:
		return TypeSubjectReleased
	case ConsentGranted:
		return TypeConsentGranted
	case ConsentWithdrawn:
		return TypeConsentWithdrawn
	case SubjectExported:
		return TypeSubjectExported
	case ValueSuppressed:
		return TypeValueSuppressed
	case SuppressionRemoved:
		return TypeSuppressionRemoved
	case SourceRevised:
		return TypeSourceRevised
	case ErasureRequested:
		return TypeErasureRequested
	case ErasureAdvanced:
		return TypeErasureAdvanced
	case VectorEmbedded:
		return TypeVectorEmbedded
	case TraceRecalled:
		return TypeTraceRecalled
	case TraceUsed:
		return TypeTraceUsed
	case TraceJudged:
		return TypeTraceJudged
	case PolicyActivated:
		return TypePolicyActivated
	}
	return ""
}

// decodeEvent turns one event of a known type, in any version ever written,
// into its current Go type.
func decodeEvent(typ string, data []byte) (Event, error) {
	typ, data, err := upcast(typ, data)
	if err != nil {
		return nil, err
	}
	switch typ {
	case TypeEpisodeCaptured:
		return decodeAs[EpisodeCaptured](data)
	case TypeEpisodeQuarantined:
		return decodeAs[EpisodeQuarantined](data)
	case TypeEpisodeDropped:
		return decodeAs[EpisodeDropped](data)
	case TypeEpisodeForgotten:
		return decodeAs[EpisodeForgotten](data)
	case TypeFactProposed:
		return decodeAs[FactProposed](data)
	case TypeFactDecided:
		return decodeAs[FactDecided](data)
	case TypeFactReviewed:
		return decodeAs[FactReviewed](data)
	case TypeFactReopened:
		return decodeAs[FactReopened](data)
	case TypeFactRestored:
		return decodeAs[FactRestored](data)
	case TypeFactPromoted:
		return decodeAs[FactPromoted](data)
	case TypeFactSuperseded:
		return decodeAs[FactSuperseded](data)
	case TypeFactCorroborated:
		return decodeAs[FactCorroborated](data)
	case TypeFactRetracted:
		return decodeAs[FactRetracted](data)
	case TypeFactSourceLost:
		return decodeAs[FactSourceLost](data)
	case TypeFactForgotten:
		return decodeAs[FactForgotten](data)
	case TypeSubjectRegistered:
		return decodeAs[SubjectRegistered](data)
	case TypeSubjectForgotten:
		return decodeAs[SubjectForgotten](data)
	case TypeSubjectHeld:
		return decodeAs[SubjectHeld](data)
	case TypeSubjectReleased:
		return decodeAs[SubjectReleased](data)
	case TypeConsentGranted:
		return decodeAs[ConsentGranted](data)
	case TypeConsentWithdrawn:
		return decodeAs[ConsentWithdrawn](data)
	case TypeSubjectExported:
		return decodeAs[SubjectExported](data)
	case TypeValueSuppressed:
		return decodeAs[ValueSuppressed](data)
	case TypeSuppressionRemoved:
		return decodeAs[SuppressionRemoved](data)
	case TypeSourceRevised:
		return decodeAs[SourceRevised](data)
	case TypeErasureRequested:
		return decodeAs[ErasureRequested](data)
	case TypeErasureAdvanced:
		return decodeAs[ErasureAdvanced](data)
	case TypeVectorEmbedded:
		return decodeAs[VectorEmbedded](data)
	case TypeTraceRecalled:
		return decodeAs[TraceRecalled](data)
	case TypeTraceUsed:
		return decodeAs[TraceUsed](data)
	case TypeTraceJudged:
		return decodeAs[TraceJudged](data)
	case TypePolicyActivated:
		return decodeAs[PolicyActivated](data)
	}
	return nil, ErrUnknownType
}
