package events

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
)

// typeEpisodeCapturedV1 is the version before sensitivity labels, tokens for
// sources and the explicit flag for an unknown time: a zero time said it then,
// and a trust that was not written was that of an agent.
const typeEpisodeCapturedV1 = "annals.episode.captured.v1"

type episodeCapturedV1 struct {
	Subject    string    `json:"subject"`
	Class      string    `json:"class"`
	OccurredAt time.Time `json:"occurred_at,omitzero"`
	CapturedAt time.Time `json:"captured_at"`
	Trust      Trust     `json:"trust,omitzero"`
	Session    string    `json:"session,omitempty"`
	Entities   []string  `json:"entities,omitempty"`
	Content    []byte    `json:"content"`
}

// upcast brings data of an old version to the current one of its type; data of
// any other type passes unchanged. The steps are a chain: each knows only the
// version that follows its own.
func upcast(typ string, data []byte) (string, []byte, error) {
	if typ != typeEpisodeCapturedV1 {
		return typ, data, nil
	}
	var old episodeCapturedV1
	if err := json.Unmarshal(data, &old, json.RejectUnknownMembers(true)); err != nil {
		return "", nil, fmt.Errorf("%w: data does not have the shape of its type", ErrCorrupt)
	}
	e := EpisodeCaptured{
		Subject: old.Subject, Class: old.Class, OccurredAt: old.OccurredAt, Trust: old.Trust,
		Session: old.Session, Entities: old.Entities, Content: old.Content,
	}
	if e.OccurredAt.IsZero() {
		e.OccurredAt, e.OccurredUnknown = old.CapturedAt, true
	}
	if e.Trust == 0 {
		e.Trust = TrustAgent
	}
	out, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return "", nil, fmt.Errorf("%w: upcast: %w", ErrCorrupt, err)
	}
	return TypeEpisodeCaptured, out, nil
}
