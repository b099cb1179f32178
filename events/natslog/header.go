package natslog

import (
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// The headers of a message. Their case is as it is on the wire, so they are
// set and read as map keys.
const (
	headerID          = "ce-id"
	headerType        = "ce-type"
	headerSource      = "ce-source"
	headerTime        = "ce-time"
	headerSpecVersion = "ce-specversion"
	headerEvents      = "annals-events"
	headerPrincipal   = "annals-principal"
	headerTraceParent = "traceparent"
	headerContentType = "content-type"
	// headerSubject is the log's subject of a message in quarantine.
	headerSubject = "annals-subject"

	source      = "annals"
	contentType = "application/json"
	comma       = ","
)

// encodeHeader writes h. The values share one array: a header is written once
// and never appended to.
func encodeHeader(h events.Header) nats.Header {
	v := [...]string{
		h.ID, events.CommitType, source, h.Time.UTC().Format(time.RFC3339Nano), events.SpecVersion,
		strings.Join(h.Types, comma), contentType, h.Principal, h.TraceParent,
	}
	out := make(nats.Header, len(v)+2)
	out[headerID] = v[0:1:1]
	out[headerType] = v[1:2:2]
	out[headerSource] = v[2:3:3]
	out[headerTime] = v[3:4:4]
	out[headerSpecVersion] = v[4:5:5]
	out[headerEvents] = v[5:6:6]
	out[headerContentType] = v[6:7:7]
	if h.Principal != "" {
		out[headerPrincipal] = v[7:8:8]
	}
	if h.TraceParent != "" {
		out[headerTraceParent] = v[8:9:9]
	}
	return out
}

// decodeHeader reads what encodeHeader wrote. What is missing or malformed is
// left zero: events.Decode refuses it.
func decodeHeader(h nats.Header) events.Header {
	out := events.Header{
		ID: first(h[headerID]), Principal: first(h[headerPrincipal]), TraceParent: first(h[headerTraceParent]),
	}
	if t, err := time.Parse(time.RFC3339Nano, first(h[headerTime])); err == nil {
		out.Time = t.UTC()
	}
	if types := h[headerEvents]; len(types) == 1 && strings.Contains(types[0], comma) {
		out.Types = strings.Split(types[0], comma)
	} else {
		out.Types = types // The usual case, one event, costs nothing.
	}
	return out
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// setExpect makes the server check the last sequence of the message's subject.
func setExpect(h nats.Header, expect events.Expect) {
	if expect != events.ExpectAny {
		h[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(uint64(expect), 10)}
	}
}

// expected is what a stored message expected of its subject: the sequence of
// the message before it, as the server checked it.
func expected(h nats.Header) (uint64, bool) {
	n, err := strconv.ParseUint(first(h[jetstream.ExpectedLastSubjSeqHeader]), 10, 64)
	return n, err == nil
}

func fromRaw(m *jetstream.RawStreamMsg) events.Message {
	return events.Message{
		Subject: m.Subject, Header: decodeHeader(m.Header), Data: m.Data,
		Position: m.Sequence, RecordedAt: m.Time.UTC(),
	}
}
