package events_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

func FuzzDecode(f *testing.F) {
	for _, typ := range eventstest.Types() {
		m, err := events.Encode(eventstest.NewCommit(events.KindFact, "slot-a", eventstest.Sample(typ)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.Subject, typ, m.Data)
	}
	f.Add("annals.59.tenant-a.episode.e", "annals.episode.captured.v1",
		[]byte(`{"events":[{"type":"annals.episode.captured.v1","data":{"subject":"s","class":"c","captured_at":"2026-01-02T03:04:05Z","content":"AA=="}}]}`))
	f.Add("annals.59.tenant-a.fact.s", "annals.fact.forgotten.v1,annals.trace.used.v1",
		[]byte(`{"events":[{"type":"annals.fact.forgotten.v1","data":{}},{"type":"annals.trace.used.v1","data":{}}]}`))
	f.Fuzz(func(t *testing.T, subject, types string, data []byte) {
		got, err := events.Decode(events.Message{
			Subject: subject, Data: data,
			Header: events.Header{ID: "commit-a", Time: eventstest.Epoch(), Types: strings.Split(types, ",")},
		})
		if err != nil {
			if !errors.Is(err, events.ErrCorrupt) && !errors.Is(err, events.ErrUnknownType) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		m, err := events.Encode(got.Commit)
		if err != nil {
			t.Fatalf("decoded, and not to be encoded: %v", err)
		}
		again, err := events.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		// A list that was missing is read as nil and written as empty.
		if diff := cmp.Diff(got, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("another commit after encoding:\n%s", diff)
		}
	})
}

func FuzzParseSubject(f *testing.F) {
	for _, s := range goodTokens() {
		f.Add(events.Aggregate{Tenant: s, Kind: events.KindFact, ID: s}.Subject())
	}
	for _, s := range badTokens() {
		f.Add(events.Aggregate{Tenant: "tenant-a", Kind: events.KindFact, ID: s}.Subject())
	}
	f.Fuzz(func(t *testing.T, subject string) {
		a, err := events.ParseSubject(subject)
		if err != nil {
			if !errors.Is(err, events.ErrBadSubject) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if err := a.Valid(); err != nil || a.Subject() != subject {
			t.Fatalf("%q is %q, %v", subject, a.Subject(), err)
		}
	})
}

func FuzzTrust(f *testing.F) {
	for _, s := range []string{"", "external", "system", "human_verified", "System", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		trust, err := events.ParseTrust(s)
		if err != nil {
			if trust != 0 || !errors.Is(err, events.ErrInvalid) {
				t.Fatalf("refused as %d, %v", trust, err)
			}
			return
		}
		if trust == 0 || trust > events.TrustSystem || trust.String() != s {
			t.Fatalf("%q is trust %d", s, trust)
		}
	})
}

func FuzzTime(f *testing.F) {
	rfc3339 := regexp.MustCompile(
		`^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)
	for _, s := range []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1234567-05:30", "0001-01-01T00:00:00+23:59", "now"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var at events.Time
		if err := at.UnmarshalText([]byte(s)); err != nil {
			if !errors.Is(err, events.ErrBadTime) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		text, err := at.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again events.Time
		if err := again.UnmarshalText(text); err != nil || again != at {
			t.Fatalf("%q is written %s and read as %v, %v", s, text, again, err)
		}
		if !rfc3339.MatchString(s) {
			t.Fatalf("%q is no RFC 3339", s)
		}
	})
}
