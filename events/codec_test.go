package events_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	for _, typ := range eventstest.Types() {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) { roundTrip(t, eventstest.CommitOf(t, eventstest.EventOf(t, typ))) })
		})
	}
	t.Run("any", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { roundTrip(t, eventstest.Commit(t)) })
	})
}

func roundTrip(t *rapid.T, c events.Commit) {
	m, err := events.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	m.Position, m.RecordedAt = 7, eventstest.Epoch()
	got, err := events.Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	want := events.Recorded{Commit: c, Position: 7, RecordedAt: eventstest.Epoch()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("decoded is not what was encoded (-want +got):\n%s", diff)
	}
	again, err := events.Encode(got.Commit)
	if err != nil {
		t.Fatal(err)
	}
	if string(again.Data) != string(m.Data) {
		t.Fatalf("equal commits gave\n%s\n%s", m.Data, again.Data)
	}
	if diff := cmp.Diff(m.Header, again.Header); diff != "" {
		t.Fatalf("equal commits gave other headers:\n%s", diff)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	proposed := func(edit func(*events.FactProposed)) func(*events.Commit) {
		return func(c *events.Commit) { c.Events = []events.Event{eventstest.Proposed("fact-a", edit)} }
	}
	confidence := func(f float64) func(*events.Commit) {
		return proposed(func(e *events.FactProposed) { e.Confidence = f })
	}
	for name, edit := range map[string]func(*events.Commit){
		"not a number":       confidence(math.NaN()),
		"infinite":           confidence(math.Inf(1)),
		"minus infinite":     confidence(math.Inf(-1)),
		"no trust":           proposed(func(e *events.FactProposed) { e.Trust = 0 }),
		"a trust too high":   proposed(func(e *events.FactProposed) { e.Trust = events.TrustSystem + 1 }),
		"a year of five":     proposed(func(e *events.FactProposed) { e.ObservedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }),
		"no UTF-8":           proposed(func(e *events.FactProposed) { e.Category = "a\xff" }),
		"no events":          func(c *events.Commit) { c.Events = nil },
		"too many events":    func(c *events.Commit) { c.Events = make([]events.Event, events.MaxEvents+1) },
		"a nil event":        func(c *events.Commit) { c.Events = []events.Event{nil} },
		"a pointer":          func(c *events.Commit) { c.Events = []events.Event{&events.FactForgotten{Fact: "fact-a"}} },
		"no id":              func(c *events.Commit) { c.ID = "" },
		"an id with a dot":   func(c *events.Commit) { c.ID = "a.b" },
		"a principal's name": func(c *events.Commit) { c.Principal = "Ada Lovelace" },
		"no time":            func(c *events.Commit) { c.Time = time.Time{} },
		"no tenant":          func(c *events.Commit) { c.Aggregate.Tenant = "" },
		"a wildcard":         func(c *events.Commit) { c.Aggregate.ID = ">" },
		"an unknown kind":    func(c *events.Commit) { c.Aggregate.Kind = "dream" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := eventstest.NewCommit(events.KindFact, "slot-a", eventstest.Proposed("fact-a"))
			if _, err := events.Encode(c); err != nil {
				t.Fatalf("the commit before the change: %v", err)
			}
			edit(&c)
			m, err := events.Encode(c)
			if !errors.Is(err, events.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
			if m.Data != nil {
				t.Error("a refused commit left bytes")
			}
		})
	}
}

func TestEncodeTakesTheMostEvents(t *testing.T) {
	t.Parallel()
	list := make([]events.Event, events.MaxEvents)
	for i := range list {
		list[i] = events.FactForgotten{Fact: "fact-a", Subject: "subject-a", Erasure: "erasure-a"}
	}
	m, err := events.Encode(eventstest.NewCommit(events.KindFact, "slot-a", list...))
	if err != nil {
		t.Fatal(err)
	}
	got, err := events.Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Events) != events.MaxEvents {
		t.Errorf("got %d events, want %d", len(got.Events), events.MaxEvents)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	body := func(typ, data string) func(*events.Message) {
		return func(m *events.Message) {
			m.Header.Types = []string{typ}
			m.Data = []byte(`{"events":[{"type":"` + typ + `","data":` + data + `}]}`)
		}
	}
	raw := func(data string) func(*events.Message) {
		return func(m *events.Message) { m.Data = []byte(data) }
	}
	const judged = `{"trace":"t","memory":"m","judgement":"useful"}`
	for name, test := range map[string]struct {
		edit func(*events.Message)
		want error
	}{
		"an unknown type":       {body("annals.fact.dreamt.v1", judged), events.ErrUnknownType},
		"an unknown version":    {body("annals.trace.judged.v2", judged), events.ErrUnknownType},
		"no type":               {body("", judged), events.ErrUnknownType},
		"an unknown field":      {body(events.TypeTraceJudged, `{"trace":"t","memory":"m","judgement":"useful","mood":1}`), events.ErrCorrupt},
		"a field in capitals":   {body(events.TypeTraceJudged, `{"Trace":"t","memory":"m","judgement":"useful"}`), events.ErrCorrupt},
		"a field twice":         {body(events.TypeTraceJudged, `{"trace":"t","trace":"u","memory":"m","judgement":"useful"}`), events.ErrCorrupt},
		"a field of other type": {body(events.TypeTraceJudged, `{"trace":1,"memory":"m","judgement":"useful"}`), events.ErrCorrupt},
		"an unknown trust":      {body(events.TypeFactProposed, `{"trust":"divine"}`), events.ErrCorrupt},
		"no trust":              {body(events.TypeFactProposed, `{"fact":"f"}`), events.ErrCorrupt},
		"an old version's field": {
			body("annals.episode.captured.v1", `{"subject":"s","class":"c","captured_at":"2026-01-02T03:04:05Z","content":"","labels":[]}`),
			events.ErrCorrupt,
		},
		"data is a list":      {body(events.TypeTraceJudged, `[]`), events.ErrCorrupt},
		"a time with no zone": {body(events.TypeFactPromoted, `{"fact":"f","valid":[{"from":"2026-01-02T03:04:05"}]}`), events.ErrCorrupt},
		"no body":             {raw(``), events.ErrCorrupt},
		"half a body":         {raw(`{"events":[`), events.ErrCorrupt},
		"two bodies":          {raw(`{"events":[]} {"events":[]}`), events.ErrCorrupt},
		"no JSON":             {raw("\x00\xff"), events.ErrCorrupt},
		"no events":           {raw(`{"events":[]}`), events.ErrCorrupt},
		"null events":         {raw(`{"events":null}`), events.ErrCorrupt},
		"a field beside them": {raw(`{"events":[{"type":"annals.trace.judged.v1","data":` + judged + `}],"tenant":"b"}`), events.ErrCorrupt},
		"fewer in the header": {func(m *events.Message) { m.Header.Types = nil }, events.ErrCorrupt},
		"another in the header": {
			func(m *events.Message) { m.Header.Types = []string{events.TypeTraceUsed} }, events.ErrCorrupt,
		},
		"no id":           {func(m *events.Message) { m.Header.ID = "" }, events.ErrCorrupt},
		"no time":         {func(m *events.Message) { m.Header.Time = time.Time{} }, events.ErrCorrupt},
		"a foreign shard": {func(m *events.Message) { m.Subject = "annals.64.tenant-a.trace.all" }, events.ErrCorrupt},
		"another subject": {func(m *events.Message) { m.Subject = "orders.1" }, events.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := events.Encode(eventstest.NewCommit(events.KindTrace, events.SharedID,
				events.TraceJudged{Trace: "t", Memory: "m", Judgement: events.JudgedUseful}))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := events.Decode(m); err != nil {
				t.Fatalf("the message before the change: %v", err)
			}
			test.edit(&m)
			got, err := events.Decode(m)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if diff := cmp.Diff(events.Recorded{}, got); diff != "" {
				t.Errorf("a refused message left something:\n%s", diff)
			}
		})
	}
}

// canary is what must not turn up in an error.
const canary = "kanarienvogel"

func TestDecodeErrorsHoldNoText(t *testing.T) {
	t.Parallel()
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		m, err := events.Encode(eventstest.Commit(t))
		if err != nil {
			t.Fatal(err)
		}
		mutate(t, &m)
		if _, err := events.Decode(m); err != nil {
			refused++
			if strings.Contains(err.Error(), canary) {
				t.Fatalf("the error tells what the message holds: %v", err)
			}
		}
	})
	if refused == 0 {
		t.Error("no mutated message was refused, so no error was looked at")
	}
}

// mutate puts the canary somewhere into a message.
func mutate(t *rapid.T, m *events.Message) {
	data := string(m.Data)
	at := rapid.IntRange(0, len(data)).Draw(t, "at")
	switch rapid.IntRange(0, 6).Draw(t, "mutation") {
	case 0: // anywhere
		data = data[:at] + canary + data[at:]
	case 1: // cut off
		data = data[:at] + `"` + canary
	case 2: // in a string of its own
		data = data[:at] + `"` + canary + `"` + data[at:]
	case 3: // as a field
		data = strings.Replace(data, `"data":{`, `"data":{"`+canary+`":"`+canary+`",`, 1)
	case 4: // as a type, of which the header knows
		data = strings.Replace(data, m.Header.Types[0], canary, 1)
		m.Header.Types[0] = canary
	case 5: // as the value of the last field
		if i := strings.LastIndex(data, `":`); i >= 0 {
			data = data[:i] + `":["` + canary + `"]}}]}`
		}
	case 6: // in the subject
		m.Subject += "." + canary
	}
	m.Data = []byte(data)
}

func TestEncodeErrorsHoldNoText(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]events.Event{
		"no UTF-8": events.PolicyActivated{Text: canary + "\xff"},
		"no trust": eventstest.Proposed("fact-a", func(e *events.FactProposed) {
			e.Category, e.Content, e.Trust = canary, []byte(canary), 0
		}),
		"not a number": eventstest.Proposed("fact-a", func(e *events.FactProposed) {
			e.Category, e.Content, e.Confidence = canary, []byte(canary), math.NaN()
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := events.Encode(eventstest.NewCommit(events.KindFact, "slot-a", e))
			if err == nil {
				t.Fatal("got no error")
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error tells what the commit holds: %v", err)
			}
		})
	}
}

// TestTimesAreUTC holds what equality of times hangs on: == compares zones too.
func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3_600)
	c := eventstest.Episode("episode-a")
	want, err := events.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Time = c.Time.In(berlin)
	m, err := events.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	if m.Header.Time != want.Header.Time {
		t.Errorf("the header says %v, want %v", m.Header.Time, want.Header.Time)
	}
	m.Header.Time, m.RecordedAt = m.Header.Time.In(berlin), eventstest.Day(1).In(berlin)
	got, err := events.Decode(m)
	if err != nil {
		t.Fatal(err)
	}
	if got.Time != eventstest.Epoch() || got.RecordedAt != eventstest.Day(1) {
		t.Errorf("decoded as of %v and %v", got.Time, got.RecordedAt)
	}
}

func TestMicro(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 3_600)
	for _, test := range []struct{ in, want time.Time }{
		{time.Time{}, time.Time{}},
		{time.Date(2026, 1, 2, 3, 4, 5, 6_999, berlin), time.Date(2026, 1, 2, 2, 4, 5, 6_000, time.UTC)},
	} {
		if got := events.Micro(test.in); got != test.want {
			t.Errorf("Micro(%v) is %v, want %v", test.in, got, test.want)
		}
	}
}

func TestHeaderHas(t *testing.T) {
	t.Parallel()
	h := events.Header{Types: []string{events.TypeFactProposed, events.TypeFactDecided}}
	if !h.Has(map[string]bool{events.TypeFactDecided: true}) {
		t.Error("the second type was not found")
	}
	if h.Has(map[string]bool{events.TypeFactPromoted: true, events.TypeFactProposed: false}) {
		t.Error("a type was found that is not there or not wanted")
	}
}
