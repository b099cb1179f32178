package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// commands runs commands on a server's data directory.
type commands struct {
	*testing.T

	data string
}

// ok runs one that must succeed.
func (c commands) ok(args ...string) string {
	c.Helper()
	out, errs, code := annals(c.T, append(args, "--data", c.data)...)
	if code != exitDone {
		c.Fatalf("annals %q: exit %d: %s%s", args, code, out, errs)
	}
	return out
}

// id runs one that makes something, and returns a member of its answer.
func (c commands) id(name string, args ...string) string {
	c.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(c.ok(append(args, "--json")...)), &out); err != nil {
		c.Fatal(err)
	}
	id, ok := out[name].(string)
	if !ok {
		c.Fatalf("annals %q: no %s in %v", args, name, out)
	}
	return id
}

// What is forgotten for good is listed, kept out, and let in again once that is lifted.
func TestSuppressionCommands(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	defer s.stop()
	c := commands{t, data}
	id := c.id("id", "capture", "maria", "She has moved to Porto.")
	if out := c.ok("suppressions", "list"); out != "" {
		t.Errorf("nothing is kept out: %s", out)
	}
	if out := c.ok("forget", id, "--suppress"); !strings.Contains(out, "1 values are kept from coming back") {
		t.Errorf("forget: %s", out)
	}
	if _, errs, code := annals(t, "capture", "maria", "She has moved to Porto.", "--data", data); code != exitFailed || !strings.Contains(errs, "not to come back") {
		t.Errorf("told again: exit %d: %s", code, errs)
	}
	listed, _, _ := strings.Cut(c.ok("suppressions", "list"), " ")
	if len(listed) != len(id) {
		t.Fatalf("listed: %q", listed)
	}
	if out := c.ok("suppressions", "lift", listed); !strings.HasPrefix(out, "lifted at ") {
		t.Errorf("lift: %s", out)
	}
	if out := c.ok("suppressions", "list"); out != "" {
		t.Errorf("lifted and listed: %s", out)
	}
	c.ok("capture", "maria", "She has moved to Porto.")
	if _, _, code := annals(t, "suppressions", "lift", listed, "--data", data); code != exitFailed {
		t.Errorf("lifted twice: exit %d", code)
	}
}

// What a command says of recalls and of the current fact reaches the gate.
func TestTraceAndSupersedesFlags(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	defer s.stop()
	c := commands{t, data}
	source := c.id("id", "capture", "maria", "She lives in Rome.")
	trace := c.id("trace_id", "recall", "where does she live")
	propose := func(city, day string, more ...string) []string {
		return append([]string{"propose", "maria", "city", city, "--source", source, "--observed-at", day + "T12:00:00Z"}, more...)
	}
	if out := c.ok("capture", "maria", "She likes it there.", "--trace", trace); !strings.HasPrefix(out, "captured ") {
		t.Errorf("capture after a recall: %s", out)
	}
	rome := c.id("fact_id", propose("Rome", "2026-01-02", "--trace", trace)...)
	// A recall that nobody knows could have answered anything.
	const unknown = "0197f3c0-8a11-7c44-9d1e-3b5f2f6f0a01"
	if got := c.id("decision", propose("Oslo", "2026-01-03", "--trace", unknown)...); got != "review" {
		t.Errorf("after an unknown recall: %s", got)
	}
	if _, _, code := annals(t, append(propose("Bonn", "2026-01-04", "--supersedes", unknown), "--data", data)...); code != exitFailed {
		t.Errorf("another fact is current: exit %d", code)
	}
	if got := c.id("decision", propose("Bonn", "2026-01-04", "--supersedes", rome)...); got != "promoted" {
		t.Errorf("the fact is current: %s", got)
	}
}
