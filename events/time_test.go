package events_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

func TestTimeReads(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-01-02T03:04:05Z":                "2026-01-02T03:04:05Z",
		"2026-01-02T03:04:05+01:00":           "2026-01-02T02:04:05Z",
		"2026-01-02T03:04:05.1234567-05:30":   "2026-01-02T08:34:05.123456Z",
		"9999-12-31T23:59:59.999999999Z":      "9999-12-31T23:59:59.999999Z",
		"0001-01-01T00:00:01Z":                "0001-01-01T00:00:01Z",
		"2024-02-29T00:00:00.000000001+00:00": "2024-02-29T00:00:00Z",
	} {
		var at events.Time
		if err := at.UnmarshalText([]byte(in)); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got, err := at.MarshalText(); err != nil || string(got) != want {
			t.Errorf("%s is written %s, %v; want %s", in, got, err, want)
		}
		var fromJSON struct {
			At events.Time `json:"at"`
		}
		if err := json.Unmarshal([]byte(`{"at":"`+in+`"}`), &fromJSON); err != nil || fromJSON.At != at {
			t.Errorf("%s in JSON is %v, %v; want %v", in, fromJSON.At, err, at)
		}
	}
}

func TestTimeRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", "now", canary, "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05+0100",
		"2026-1-2T03:04:05Z", "2026-01-02T3:04:05Z", "2026-01-02T03:04:05,5Z", "2026-02-30T03:04:05Z",
		"2026-01-02T24:00:00Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04:05+24:00", "10000-01-01T00:00:00Z",
		"9999-12-31T23:59:59-00:01", "0000-12-31T23:59:59Z", "2026-01-02T03:04:05Z\n", "1767323045",
	} {
		before := events.At(eventstest.Epoch())
		at := before
		err := at.UnmarshalText([]byte(in))
		if !errors.Is(err, events.ErrBadTime) || at != before {
			t.Errorf("%q is read as %v, %v; want ErrBadTime", in, at, err)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("the error repeats the input: %v", err)
		}
	}
	for _, in := range []string{`1767323045`, `null`, `"`, `{}`, ``} {
		var at events.Time
		if err := at.UnmarshalJSON([]byte(in)); !errors.Is(err, events.ErrBadTime) {
			t.Errorf("%s in JSON is %v, want ErrBadTime", in, err)
		}
	}
}

func TestTimeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "offset"))
		want := events.At(eventstest.Time(t, "time").In(zone))
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got events.Time
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Fatalf("%v became %s and that %v, %v", want, data, got, err)
		}
	})
}

func TestTimeAbsent(t *testing.T) {
	t.Parallel()
	if events.AtOrNil(time.Time{}) != nil {
		t.Error("the zero time is not nil")
	}
	if got := events.AtOrNil(eventstest.Epoch()); got == nil || got.Time != eventstest.Epoch() {
		t.Errorf("a time is %v", got)
	}
	var none *events.Time
	if none.Or(eventstest.Day(1)) != eventstest.Day(1) {
		t.Error("nil is not the fallback")
	}
	some := events.At(eventstest.Epoch())
	if some.Or(eventstest.Day(1)) != eventstest.Epoch() {
		t.Error("a time is the fallback")
	}
}
