package retention_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/tombstones/retention"
)

func period(t *testing.T, s string) retention.Period {
	t.Helper()
	p, ok := retention.ParsePeriod(s)
	if !ok {
		t.Fatalf("%q is no period", s)
	}
	return p
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := retention.Parse([]byte(`
# kept as short as the law allows
version: 1
default: keep
expiry_grace: 7d
categories:
  support: {episodes: 90d, facts: 2y, candidates: 30d}
  "notes: private":
    candidates: 12h
`))
	if err != nil {
		t.Fatal(err)
	}
	want := &retention.Schedule{
		Default: retention.Keep(), ExpiryGrace: period(t, "7d"),
		Categories: map[string]retention.Periods{
			"support":        {Episodes: period(t, "90d"), Facts: period(t, "2y"), Candidates: period(t, "30d")},
			"notes: private": {Episodes: retention.Keep(), Facts: retention.Keep(), Candidates: period(t, "12h")},
		},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b retention.Period) bool { return a == b })); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  string
		line  int
		field string
	}{
		"nothing":             {"", 0, ""},
		"a comment alone":     {"# later\n", 0, ""},
		"no mapping":          {"- 1\n", 1, ""},
		"no version":          {"default: keep\n", 1, "version"},
		"no default":          {"version: 1\n", 1, "default"},
		"another version":     {"version: 2\ndefault: keep\n", 1, "version"},
		"unknown field":       {"version: 1\ndefault: keep\nkeep: 1d\n", 3, "keep"},
		"field twice":         {"version: 1\ndefault: keep\ndefault: 1d\n", 3, "default"},
		"no unit":             {"version: 1\ndefault: 90\n", 2, "default"},
		"other unit":          {"version: 1\ndefault: 3w\n", 2, "default"},
		"zero":                {"version: 1\ndefault: 0d\n", 2, "default"},
		"negative":            {"version: 1\ndefault: -1d\n", 2, "default"},
		"a fraction":          {"version: 1\ndefault: 1.5d\n", 2, "default"},
		"two units":           {"version: 1\ndefault: 1y6m\n", 2, "default"},
		"too long":            {"version: 1\ndefault: 100001d\n", 2, "default"},
		"empty":               {"version: 1\ndefault:\n", 2, "default"},
		"a list":              {"version: 1\ndefault: [1d]\n", 2, "default"},
		"categories a list":   {"version: 1\ndefault: keep\ncategories: [a]\n", 3, "categories"},
		"category a duration": {"version: 1\ndefault: keep\ncategories:\n  a: 1d\n", 4, "categories.a"},
		"unknown kind":        {"version: 1\ndefault: keep\ncategories:\n  a: {traces: 1d}\n", 4, "categories.a.traces"},
		"category twice":      {"version: 1\ndefault: keep\ncategories:\n  a: {facts: 1d}\n  a: {facts: 2d}\n", 5, "categories.a"},
		"one name, two forms": {"version: 1\ndefault: keep\ncategories:\n  \u00e9: {facts: 1d}\n  e\u0301: {facts: 2d}\n", 5, "categories.e\u0301"},
		"no name":             {"version: 1\ndefault: keep\ncategories:\n  \"\": {facts: 1d}\n", 4, "categories."},
		"bad duration inside": {"version: 1\ndefault: keep\ncategories:\n  a:\n    facts: 1d\n    episodes: soon\n", 6, "categories.a.episodes"},
		"alias":               {"version: 1\ndefault: &x keep\nexpiry_grace: *x\n", 2, "default"},
		"two documents":       {"version: 1\ndefault: keep\n---\nversion: 1\n", 0, ""},
		"no YAML":             {"version: 1\n\tdefault: keep\n", 0, ""},
	} {
		_, err := retention.Parse([]byte(c.file))
		bad, ok := errors.AsType[*retention.ScheduleError](err)
		if !ok || !errors.Is(err, retention.ErrSchedule) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bad.Line != c.line || bad.Field != c.field || bad.Rule == "" {
			t.Errorf("%s: line %d, field %q, rule %q; want line %d, field %q", name, bad.Line, bad.Field, bad.Rule, c.line, c.field)
		}
	}
	if _, err := retention.Parse([]byte("version: 1\ndefault: keep\n" + strings.Repeat("#", 10))); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestPeriod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ period, start, last, over string }{
		{"1h", "2026-01-01T00:00:00Z", "2026-01-01T00:59:59Z", "2026-01-01T01:00:00Z"},
		{"30d", "2026-01-01T12:00:00Z", "2026-01-31T11:59:59Z", "2026-01-31T12:00:00Z"},
		{"1m", "2026-01-15T12:00:00Z", "2026-02-15T11:59:59Z", "2026-02-15T12:00:00Z"},
		{"1m", "2026-01-31T12:00:00Z", "2026-02-28T11:59:59Z", "2026-02-28T12:00:00Z"},
		{"13m", "2026-12-31T12:00:00Z", "2028-01-31T11:59:59Z", "2028-01-31T12:00:00Z"},
		{"1y", "2024-02-29T12:00:00Z", "2025-02-28T11:59:59Z", "2025-02-28T12:00:00Z"},
		{"4y", "2024-02-29T12:00:00Z", "2028-02-29T11:59:59Z", "2028-02-29T12:00:00Z"},
	} {
		p := period(t, c.period)
		at := func(s string) time.Time {
			x, err := time.Parse(time.RFC3339, s)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		if p.Over(at(c.start), at(c.last)) || !p.Over(at(c.start), at(c.over)) {
			t.Errorf("%s from %s: not over at %s: %v, over at %s: %v",
				c.period, c.start, c.last, !p.Over(at(c.start), at(c.last)), c.over, p.Over(at(c.start), at(c.over)))
		}
		if p.String() != c.period {
			t.Errorf("%s is written as %s", c.period, p)
		}
	}
	if retention.Keep().Over(time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Error("keep is over some day")
	}
	if x := (retention.Period{}); !x.Over(time.Unix(5, 0), time.Unix(5, 0)) || x.Over(time.Unix(5, 0), time.Unix(4, 0)) {
		t.Error("no time at all is not over at once")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("version: 1\ndefault: keep\ncategories:\n  a: {facts: 1d}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("version: 1\ndefault: keep\ncategories:\n  a: {facts: soon}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := retention.Parse(b)
		if (err == nil) != (s != nil) {
			t.Errorf("a schedule: %v, an error: %v", s != nil, err)
		}
		if err != nil && !errors.Is(err, retention.ErrSchedule) {
			t.Errorf("error of another kind: %v", err)
		}
	})
}
