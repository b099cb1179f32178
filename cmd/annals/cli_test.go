package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// A command does the same with a server and without one.
func TestCommands(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"on the directory": false, "through a server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			if served {
				s := serve(t, data)
				defer s.stop()
			}
			ok := func(args ...string) string {
				t.Helper()
				out, errs, code := annals(t, append(args, "--data", data)...)
				if code != exitDone {
					t.Fatalf("annals %q: exit %d: %s%s", args, code, out, errs)
				}
				return out
			}
			idOf := func(out string) string {
				var captured struct {
					ID string `json:"id"`
				}
				if err := json.Unmarshal([]byte(out), &captured); err != nil || captured.ID == "" {
					t.Fatalf("capture: %v", err)
				}
				return captured.ID
			}
			var captured struct {
				ID       string `json:"id"`
				Position uint64 `json:"position"`
			}
			if err := json.Unmarshal([]byte(ok("capture", "maria", "She moved to Porto.", "--json")), &captured); err != nil || captured.ID == "" {
				t.Fatalf("capture: %v", err)
			}
			out := ok("propose", "maria", "city", "Porto", "--source", captured.ID, "--observed-at", "2026-01-02T03:04:05+01:00")
			if !strings.HasPrefix(out, "promoted ") || !strings.Contains(out, "confidence") {
				t.Errorf("propose: %s", out)
			}
			if out := ok("facts", "maria"); !strings.Contains(out, `city = "Porto"`) {
				t.Errorf("facts: %s", out)
			}
			if out := ok("facts", "maria", "--as-of", "2025-01-01T00:00:00Z"); out != "" {
				t.Errorf("facts before it was true: %s", out)
			}
			if out := ok("recall", "where did she move to", "--explain"); !strings.Contains(out, "She moved to Porto.") || !strings.Contains(out, "freshness") {
				t.Errorf("recall: %s", out)
			}
			if out := ok("recall", "the city of Porto", "--filter", `{"$kind": "fact"}`); strings.Contains(out, "She moved to Porto.") || !strings.Contains(out, "Porto") {
				t.Errorf("recall of facts: %s", out)
			}
			for _, bad := range []string{`{"$kind"`, `{"$kind": "dream"}`} {
				if out, errs, code := annals(t, "recall", "where", "--filter", bad, "--data", data); code == exitDone {
					t.Errorf("recall with the filter %s: %s%s", bad, out, errs)
				}
			}
			mill, post := idOf(ok("capture", "ines", "Ines works at the mill.", "--json")), idOf(ok("capture", "ines", "Ines works elsewhere now.", "--json"))
			ok("propose", "ines", "job", "at the mill", "--source", mill, "--observed-at", "2026-01-02T00:00:00Z")
			ok("propose", "ines", "job", "at the post office", "--source", post, "--observed-at", "2026-02-02T00:00:00Z")
			out = ok("recall", "who works at the mill?", "--subject", "ines", "--kind", "episode", "--explain")
			if !strings.Contains(out, "superseded by ines job: at the post office, since 2026-02-02") || !strings.Contains(out, "demoted from") {
				t.Errorf("recall of what holds no more: %s", out)
			}
			if out := ok("recall", "who works at the mill?", "--subject", "ines", "--history", "--explain"); strings.Contains(out, "demoted") ||
				!strings.Contains(out, "superseded by") {
				t.Errorf("recall with history: %s", out)
			}
			if out := ok("recall", "quantum chromodynamics"); out != "nothing relevant\n" {
				t.Errorf("recall of nothing: %s", out)
			}
			if out := ok("status"); strings.Count(out, "healthy") != 3 {
				t.Errorf("status: %s", out)
			}
			if out := ok("forget", "--subject", "maria", "--dry-run"); !strings.HasPrefix(out, "2 would") {
				t.Errorf("dry run: %s", out)
			}
			if out := ok("forget", captured.ID); !strings.Contains(out, "shredded") {
				t.Errorf("forget: %s", out)
			}
			if out := ok("facts", "maria", "--history"); out != "" {
				t.Errorf("the fact outlived its only source: %s", out)
			}
			ok("capture", "..", "It is named by two dots.")
			if out := ok("forget", "--subject", ".."); !strings.HasPrefix(out, "forgot 1,") {
				t.Errorf("forget of a subject of dots: %s", out)
			}
			if out := ok("replay"); strings.Count(out, "equal") != 3 {
				t.Errorf("replay: %s", out)
			}
			if out := ok("verify"); strings.Count(out, "equal") != 3 {
				t.Errorf("verify: %s", out)
			}
			if out := ok("retry"); strings.Count(out, "folded 0, parked 0") != 3 {
				t.Errorf("retry: %s", out)
			}
		})
	}
}

// A forget of a subject with a maximum is one of the subject, questions about
// it included, or of nothing.
func TestForgetSubjectWithMax(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	defer s.stop()
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != want {
			t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out
	}
	run(exitDone, "capture", "maria", "She moved to Porto.")
	run(exitDone, "capture", "maria", "She likes figs.")
	run(exitFailed, "forget", "--subject", "maria", "--max", "0")
	run(exitFailed, "forget", "--subject", "maria", "--max", "1")
	if out := run(exitDone, "forget", "--subject", "maria", "--dry-run"); !strings.HasPrefix(out, "2 would") {
		t.Errorf("a forget that was refused forgot: %s", out)
	}
	run(exitDone, "forget", "--subject", "maria", "--max", "2")
	if out := run(exitDone, "forget", "--subject", "maria", "--dry-run"); !strings.HasPrefix(out, "0 would") {
		t.Errorf("after the forget: %s", out)
	}
	five := 5
	for _, k := range []forgetCmd{{Subject: "maria"}, {Subject: "maria", Max: &five}} {
		if path, _, err := k.request(); err != nil || path != "/v1/subjects/maria/forget" {
			t.Errorf("%+v goes to %s: %v", k, path, err)
		}
	}
}

// A maximum of none is one: what matches is refused, not forgotten.
func TestForgetWithMaxZero(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	defer s.stop()
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != want {
			t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	var captured struct{ ID string }
	if err := json.Unmarshal([]byte(run(exitDone, "capture", "maria", "She moved to Porto.", "--json")), &captured, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	for _, what := range [][]string{{captured.ID}, {"--subject", "maria"}, {"--filter", `{"subject":"maria"}`}} {
		if out := run(exitFailed, append([]string{"forget", "--max", "0"}, what...)...); !strings.Contains(out, "over_max") {
			t.Errorf("forget %q: %s", what, out)
		}
		if out := run(exitDone, "forget", "--subject", "maria", "--dry-run"); !strings.HasPrefix(out, "1 would") {
			t.Errorf("forget %q was refused and forgot: %s", what, out)
		}
	}
	if out := run(exitDone, "forget", captured.ID, "--max", "1"); !strings.HasPrefix(out, "forgot 1,") {
		t.Errorf("control: %s", out)
	}
}

// With the root key of another directory every command ends at once, and says why.
func TestForeignRootKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, other := filepath.Join(dir, "data"), filepath.Join(dir, "other")
	for _, d := range []string{data, other} {
		if _, errs, code := annals(t, "capture", "maria", "She moved to Porto.", "--data", d); code != exitDone {
			t.Fatal(errs)
		}
	}
	if out, errs, code := annals(t, "facts", "maria", "--data", data); code != exitDone {
		t.Errorf("control: exit %d: %s%s", code, out, errs)
	}
	foreign, err := os.ReadFile(filepath.Join(other, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "root.key"), foreign, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"status"}, {"facts", "maria"}, {"capture", "maria", "More."}} {
		_, errs, code := annals(t, append(args, "--data", data)...)
		if code != exitFailed || strings.Count(errs, "the root key does not open the keys") != 1 {
			t.Errorf("%q: exit %d: %s", args, code, errs)
		}
	}
}

// An import that is repeated adds nothing, reports what it refuses line by
// line, and goes on behind it.
func TestImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file := filepath.Join(dir, "data"), filepath.Join(dir, "in.jsonl")
	lines := []string{
		`{"subject":"maria","text":"one","source":{"kind":"chat","ref":"1"},"occurred_at":"2026-01-02T03:04:05Z"}`,
		`{"subject":"maria","text":"two","source":{"kind":"chat","ref":"2"}}`,
		`not json`,
		`{"subject":"maria","text":"three","source":{"kind":"chat","ref":"3"},"tenant":"x"}`,
		``,
		`{"subject":"maria","text":"two","source":{"kind":"chat","ref":"2"}}`,
	}
	if err := os.WriteFile(file, []byte("\ufeff"+strings.Join(lines, "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	records := func() int {
		t.Helper()
		out, errs, code := annals(t, "status", "--data", data, "--json")
		if code != exitDone {
			t.Fatalf("status: %s", errs)
		}
		var s struct{ Projections []projection }
		if err := json.Unmarshal([]byte(out), &s, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Projections {
			if p.Projection == "memories" {
				return int(p.Records)
			}
		}
		return -1
	}
	out, _, code := annals(t, "import", file, "--data", data)
	for _, want := range []string{"line 3: malformed", "line 4: unknown_field tenant", "captured 3,", "refused 2,", "without a date 2"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if code != exitFailed {
		t.Errorf("exit %d with refused lines", code)
	}
	first := records()
	if _, _, code = annals(t, "import", file, "--data", data); code != exitFailed {
		t.Errorf("exit %d", code)
	}
	if again := records(); again != first {
		t.Errorf("a second import went from %d to %d records", first, again)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	other := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"help", []string{"--help"}, exitDone, ""},
		{"version", []string{"version"}, exitDone, ""},
		{"no command", nil, exitMisuse, "expected one of"},
		{"unknown command", []string{"remember"}, exitMisuse, "unexpected argument"},
		{"unknown flag", []string{"facts", "x", "--nope"}, exitMisuse, "unknown flag"},
		{"two ways to forget", []string{"forget", "a", "--subject", "b", "--data", data}, exitMisuse, "one of them"},
		{"bad filter", []string{"forget", "--filter", "{", "--data", data}, exitMisuse, "not JSON"},
		{"unknown trust", []string{"token", "--trust", "best", "--data", data}, exitMisuse, "--trust"},
		{"unknown role", []string{"token", "--roles", "root", "--data", data}, exitMisuse, "role"},
		{"no server", []string{"facts", "x", "--addr", "127.0.0.1:1", "--token", "t"}, exitNotReady, "does not answer"},
		{"data is a file", []string{"capture", "x", "y", "--data", other}, exitFailed, "data directory"},
		{"refused input", []string{"capture", "a", "b", "--occurred-at", "2026-01-02T03:04:05", "--data", data}, exitMisuse, "occurred_at"},
		{"no such memory", []string{"facts", "x", "--data", filepath.Join(data, "none")}, exitMisuse, "nothing in"},
		{"no such data set", []string{"eval", "retrieval", data}, exitFailed, "absent"},
		{"no such file", []string{"import", filepath.Join(data, "none"), "--data", data}, exitMisuse, "no such file"},
		{"bad sizes", []string{"bench", "--sizes", "10,5"}, exitMisuse, "--sizes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, errs, code := annals(t, c.args...)
			if code != c.code || !strings.Contains(errs, c.says) {
				t.Errorf("exit %d, want %d; %q is not in %s%s", code, c.code, c.says, out, errs)
			}
		})
	}
}

// What cannot start says why, and what to do.
func TestStartupErrors(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	if _, errs, code := annals(t, "capture", "a", "b", "--data", data); code != exitDone {
		t.Fatalf("control: %s", errs)
	}
	root := filepath.Join(data, "root.key")
	good, err := os.ReadFile(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func() error
		says  string
	}{
		{"no root key", func() error { return os.Remove(root) }, "root key is missing"},
		{"open root key", func() error { return os.Chmod(root, 0o644) }, "mode"},
		{"cut root key", func() error { return os.WriteFile(root, good[:len(good)/2], 0o600) }, "root key"},
		{"open signing key", func() error { return os.Chmod(filepath.Join(data, "auth.key"), 0o644) }, "chmod 600"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		if _, errs, code := annals(t, "facts", "a", "--data", data); code != exitFailed || !strings.Contains(errs, c.says) {
			t.Errorf("%s: exit %d, %q is not in %s", c.name, code, c.says, errs)
		}
		if err := os.WriteFile(root, good, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{root, filepath.Join(data, "auth.key")} {
			if err := os.Chmod(f, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, errs, code := annals(t, "facts", "a", "--data", data); code != exitDone {
		t.Errorf("mended, and yet: %s", errs)
	}
	s := serve(t, data)
	if _, errs, code := annals(t, "serve", "--data", data, "--addr", "127.0.0.1:0"); code != exitNotReady || !strings.Contains(errs, "in use") {
		t.Errorf("a second server: exit %d: %s", code, errs)
	}
	s.stop()
}
