package suppression_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/memlog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/suppression"
)

func TestNormal(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"  Rua\t Ferreira\n\n9 ":      "rua ferreira 9",
		"\u200bRu\u00ada\ufeff X\x07": "rua x",
		"\uff32\uff35\uff21 \u2460":   "rua 1",
		"I\u0307stanbul":              suppression.Normal("\u0130stanbul"),
		"Cafe\u0301":                  "caf\u00e9",
		" \u200b\t\x00":               "",
		"a\u00a0\u3000b":              "a b",
		// What nothing shows: selectors, joiners, fillers, tags.
		"r\ufe0fua\U000e0101\u034f 9\u3164":   "rua 9",
		"\u115f\u180b\u17b4x\U000e0041\u2065": "x",
	} {
		if got := suppression.Normal(value); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
		if again := suppression.Normal(suppression.Normal(value)); again != suppression.Normal(value) {
			t.Errorf("%q is not normal when it is: %q", value, again)
		}
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ predicate, value, want string }{
		{"city", `"Lima"`, "Lima"},
		{"smokes", `true`, "smokes = true"},
		{"age", `4.20e1`, "age = 42"},
		{"seat", `{"b":1,"a":[2.0]}`, `{"a":[2],"b":1}`},
		// Neighbours that are one float64 are two values.
		{"account", `9007199254740993`, "account = 9007199254740993"},
		{"accounts", `[9007199254740993]`, "[9007199254740993]"},
	} {
		if got := suppression.Value(c.predicate, jsontext.Value(c.value)); got != c.want {
			t.Errorf("%s is %q, want %q", c.value, got, c.want)
		}
	}
}

// counting counts the commits.
type counting struct {
	*memlog.Log

	appends int
}

func (c *counting) Append(ctx context.Context, commit events.Commit, expect events.Expect) (events.Ack, error) {
	c.appends++
	return c.Log.Append(ctx, commit, expect)
}

func TestSet(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	root, err := seal.OpenFileRoot(t.TempDir()+"/root", seal.FileRootOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := seal.New(seal.NewMemRows(), root, seal.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	tenant := func(name string) *seal.Tenant {
		x, err := keys.Tenant(t.Context(), name, true)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	log := &counting{Log: memlog.New("test", func() time.Time { return now })}
	newSet := func(name string) *suppression.Set {
		n := 0
		s, err := suppression.New(suppression.Config{Log: log, Now: func() time.Time { return now }, NewID: func() string {
			n++
			id := fmt.Sprintf("%s-%d", name, n)
			return id
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	acme, other := tenant("acme"), tenant("other")
	mine, theirs := newSet("mine"), newSet("theirs")
	has := func(s *suppression.Set, x *seal.Tenant, want bool, values ...string) {
		t.Helper()
		got, err := s.Has(t.Context(), x, values...)
		if err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", values, got, err, want)
		}
	}
	has(mine, acme, false, "Lima")
	has(theirs, acme, false, "Lima")
	var many []string
	for i := range events.MaxEvents + 1 {
		many = append(many, fmt.Sprintf("value %d", i))
	}
	for _, values := range [][]string{{"Lima", "", " lima "}, {"LIMA"}, {}, many} {
		if _, _, err := mine.Add(t.Context(), acme, "p", "one", values); err != nil {
			t.Fatal(err)
		}
	}
	if log.appends != 3 {
		t.Errorf("%d commits, want one of one value and two of many", log.appends)
	}
	has(mine, acme, true, "lima")
	has(mine, acme, true, "Porto", "value 1000")
	has(mine, acme, false, "Porto", "", "Lima, Peru")
	has(mine, other, false, "Lima")
	has(theirs, acme, false, "lima") // it asked less than a second ago
	now = now.Add(time.Second)
	has(theirs, acme, true, "lima")
	// Both add, neither knowing of the other.
	for s, value := range map[*suppression.Set]string{mine: "Porto", theirs: "Faro"} {
		if _, _, err := s.Add(t.Context(), acme, "p", "", []string{value}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Second)
	for _, s := range []*suppression.Set{mine, theirs} {
		has(s, acme, true, "porto")
		has(s, acme, true, "faro")
	}
	if _, err := suppression.New(suppression.Config{}); err == nil {
		t.Error("a set of nothing was made")
	}
}
