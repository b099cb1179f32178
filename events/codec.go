package events

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SpecVersion is the CloudEvents version of the headers.
const SpecVersion = "1.0"

// CommitType is the ce-type of every message: the body is a list of events,
// each with a type of its own.
const CommitType = "annals.commit.v1"

type wireCommit struct {
	Events []wireEvent `json:"events"`
}

type wireEvent struct {
	Type string         `json:"type"`
	Data jsontext.Value `json:"data"`
}

type wireEventOut struct {
	Type string `json:"type"`
	Data Event  `json:"data"`
}

// Encode turns a valid commit into the message that holds it. Equal commits
// give equal bytes.
func Encode(c Commit) (Message, error) {
	if err := c.Valid(); err != nil {
		return Message{}, err
	}
	out := struct {
		Events []wireEventOut `json:"events"`
	}{Events: make([]wireEventOut, len(c.Events))}
	types := make([]string, len(c.Events))
	for i, e := range c.Events {
		types[i] = TypeOf(e)
		if types[i] == "" {
			return Message{}, fmt.Errorf("%w: event %d has no type", ErrInvalid, i)
		}
		out.Events[i] = wireEventOut{Type: types[i], Data: e}
	}
	data, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return Message{}, fmt.Errorf("%w: encode: %w", ErrInvalid, err)
	}
	return Message{
		Subject: c.Aggregate.Subject(),
		Header: Header{
			ID: c.ID, Time: c.Time.UTC(), Principal: c.Principal,
			TraceParent: c.TraceParent, Types: types,
		},
		Data: data,
	}, nil
}

// Decode is the inverse of [Encode], for every version ever written. Its
// errors are ErrUnknownType and ErrCorrupt, and they hold no text of the
// message.
func Decode(m Message) (Recorded, error) {
	agg, err := ParseSubject(m.Subject)
	if err != nil {
		return Recorded{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	var w wireCommit
	if err := json.Unmarshal(m.Data, &w, json.RejectUnknownMembers(true)); err != nil {
		return Recorded{}, fmt.Errorf("%w: body is not a list of events", ErrCorrupt)
	}
	if len(w.Events) == 0 || len(w.Events) > MaxEvents || len(w.Events) != len(m.Header.Types) {
		return Recorded{}, fmt.Errorf("%w: %d events in the body, %d in the header",
			ErrCorrupt, len(w.Events), len(m.Header.Types))
	}
	list := make([]Event, len(w.Events))
	for i, we := range w.Events {
		if we.Type != m.Header.Types[i] {
			return Recorded{}, fmt.Errorf("%w: event %d is not of the type in the header", ErrCorrupt, i)
		}
		if list[i], err = decodeEvent(we.Type, we.Data); err != nil {
			return Recorded{}, fmt.Errorf("event %d: %w", i, err)
		}
	}
	c := Commit{
		ID: m.Header.ID, Aggregate: agg, Time: m.Header.Time.UTC(), Principal: m.Header.Principal,
		TraceParent: m.Header.TraceParent, Events: list,
	}
	if err := c.Valid(); err != nil {
		return Recorded{}, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return Recorded{Commit: c, Position: m.Position, RecordedAt: m.RecordedAt.UTC()}, nil
}

func decodeAs[E Event](data []byte) (Event, error) {
	var e E
	if err := json.Unmarshal(data, &e, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: data does not have the shape of its type", ErrCorrupt)
	}
	if !trusted(e) {
		return nil, fmt.Errorf("%w: no trust", ErrCorrupt)
	}
	return e, nil
}

// trusted reports whether e says its trust, if it is of a type that must: a
// field that is missing leaves the zero value, which Encode would refuse.
func trusted(e Event) bool {
	switch e := e.(type) {
	case EpisodeCaptured:
		return e.Trust != 0
	case FactProposed:
		return e.Trust != 0
	default:
		return true
	}
}

// Micro is t in UTC, cut to the microsecond: the resolution of every time in
// an event. Finer parts would be lost in an index and break equality.
func Micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}
