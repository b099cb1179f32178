package events_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
)

// badTokens are what no token may be.
func badTokens() map[string]string {
	return map[string]string{
		"empty":              "",
		"a dot":              "a.b",
		"a space":            "a b",
		"a tab":              "a\tb",
		"a line end":         "a\n",
		"one wildcard":       "*",
		"a wildcard inside":  "a*",
		"the rest wildcard":  ">",
		"a capital":          "Acme",
		"an underscore":      "a_b",
		"a slash":            "a/b",
		"NUL":                "a\x00b",
		"half UTF-8":         "a\xc3",
		"an umlaut":          "müller",
		"a wide letter":      "ａ",
		"a Cyrillic a":       "\u0430cme",
		"a joiner":           "a\u200db",
		"an ideograph":       "記憶",
		"65 characters":      strings.Repeat("a", 65),
		"64 and a line end":  strings.Repeat("a", 64) + "\n",
		"a reserved dollar":  "$js",
		"a percent encoding": "%2e",
	}
}

func goodTokens() []string {
	return []string{"a", "0", "-", "acme", "acme-corp", strings.Repeat("z", 64), "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a01"}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, s := range goodTokens() {
		if !events.ValidToken(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for name, s := range badTokens() {
		if events.ValidToken(s) {
			t.Errorf("%s passes: %q", name, s)
		}
	}
}

func TestAggregateRefusesBadTokens(t *testing.T) {
	t.Parallel()
	good := events.Aggregate{Tenant: "acme", Kind: events.KindFact, ID: "slot-a"}
	if err := good.Valid(); err != nil {
		t.Fatal(err)
	}
	for name, s := range badTokens() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for part, a := range map[string]events.Aggregate{
				"tenant": {Tenant: s, Kind: good.Kind, ID: good.ID},
				"kind":   {Tenant: good.Tenant, Kind: events.Kind(s), ID: good.ID},
				"id":     {Tenant: good.Tenant, Kind: good.Kind, ID: s},
			} {
				if err := a.Valid(); !errors.Is(err, events.ErrBadToken) {
					t.Errorf("as the %s: %v, want ErrBadToken", part, err)
				}
				got, err := events.ParseSubject(a.Subject())
				if !errors.Is(err, events.ErrBadSubject) {
					t.Errorf("its subject, as the %s: %v, want ErrBadSubject", part, err)
				}
				if got != (events.Aggregate{}) {
					t.Errorf("its subject, as the %s, left %v", part, got)
				}
			}
		})
	}
}

func TestParseSubject(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		subject string
		ok      bool
	}{
		{"annals.59.tenant-a.fact.slot-a", true},
		{"annals.58.tenant-a.fact.slot-a", false}, // another tenant's shard
		{"annals.059.tenant-a.fact.slot-a", false},
		{"annals.+59.tenant-a.fact.slot-a", false},
		{"annals.123.tenant-a.fact.slot-a", false}, // 59 and 64
		{"annals.-5.tenant-a.fact.slot-a", false},
		{"annals.*.tenant-a.fact.slot-a", false},
		{"annals.59.*.fact.slot-a", false},
		{"annals.59.tenant-a.fact.*", false},
		{"annals.59.tenant-a.fact.>", false},
		{"annals.59.tenant-a.>", false},
		{"annals.59.tenant-a.session.slot-a", false},
		{"annals.59.tenant-a.fact", false},
		{"annals.59.tenant-a.fact.slot-a.more", false},
		{"annals.59.tenant-a.fact.", false},
		{"annals-keys.59.tenant-a.fact.slot-a", false},
		{"ANNALS.59.tenant-a.fact.slot-a", false},
		{" annals.59.tenant-a.fact.slot-a", false},
		{"", false},
		{"....", false},
	} {
		_, err := events.ParseSubject(test.subject)
		if test.ok && err != nil {
			t.Errorf("%q: %v", test.subject, err)
		}
		if !test.ok && !errors.Is(err, events.ErrBadSubject) {
			t.Errorf("%q: %v, want ErrBadSubject", test.subject, err)
		}
	}
}

func TestSubjectRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := eventstest.Commit(t).Aggregate
		got, err := events.ParseSubject(a.Subject())
		if err != nil || got != a {
			t.Fatalf("%v became %q and that %v, %v", a, a.Subject(), got, err)
		}
	})
}

func TestSubjectsAreDistinct(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := eventstest.Commit(t).Aggregate, eventstest.Commit(t).Aggregate
		if (a == b) != (a.Subject() == b.Subject()) {
			t.Fatalf("%v and %v are %q and %q", a, b, a.Subject(), b.Subject())
		}
	})
}

// TestShardIsFixed holds the map from tenants to shards. It is in every subject
// that was ever written and can never change.
func TestShardIsFixed(t *testing.T) {
	t.Parallel()
	for tenant, want := range map[string]int{"a": 44, "acme": 47, "acme-corp": 2, "tenant-a": 59, "local": 8} {
		if got := events.Shard(tenant); got != want {
			t.Errorf("the shard of %q is %d, want %d", tenant, got, want)
		}
	}
}

func TestShardIsInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if n := events.Shard(eventstest.Token(t, "tenant")); n < 0 || n >= events.Shards {
			t.Fatalf("shard %d", n)
		}
	})
}

func TestConflictError(t *testing.T) {
	t.Parallel()
	var err error = &events.ConflictError{
		Aggregate: events.Aggregate{Tenant: canary, Kind: events.KindFact, ID: canary}, Expected: 3, Actual: 5,
	}
	if !errors.Is(err, events.ErrConflict) || errors.Is(err, events.ErrCorrupt) {
		t.Error("a ConflictError is ErrConflict and nothing else")
	}
	if got, want := err.Error(), "version conflict: fact expected at 3, is at 5"; got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}
