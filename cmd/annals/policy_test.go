package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/producers/policy"
)

// A policy's way from a file into force and back is the same with a server and
// without one.
func TestPolicyCommands(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"on the directory": false, "through a server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data := filepath.Join(dir, "data")
			if served {
				s := serve(t, data)
				defer s.stop()
			}
			run := func(want int, args ...string) string {
				t.Helper()
				out, errs, code := annals(t, append(args, "--data", data)...)
				if code != want {
					t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
				}
				return out + errs
			}
			write := func(name, text string) string {
				t.Helper()
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			text := strings.Replace(policy.Default().Text(), "\nversion: 1\n", "\nversion: 2\n", 1)
			strict := write("strict.yaml", strings.Replace(text, "cand.confidence < 0.95", "cand.confidence < 0.999", 1))
			broken := write("broken.yaml", strings.Replace(text, "cand.guard.score >= 80", "cand.guard.points >= 80", 1))
			odd := write("odd.yaml", strings.Replace(text, "{confidence: 0.9}", "{confidence: 0.99}", 1))

			var captured struct {
				ID string `json:"id"`
			}
			if err := json.Unmarshal([]byte(run(exitDone, "capture", "maria", "She moved to Porto.", "--json")), &captured); err != nil {
				t.Fatal(err)
			}
			run(exitDone, "propose", "maria", "city", "Porto", "--source", captured.ID, "--confidence", "0.99", "--observed-at", "2026-01-02T03:04:05+01:00")
			run(exitDone, "propose", "maria", "pet", "a cat", "--source", captured.ID, "--confidence", "1", "--observed-at", "2026-01-02T03:04:05+01:00")
			for _, c := range []struct {
				want int
				says string
				args []string
			}{
				{exitDone, "sound: promotion version 2, 8 rules, 10 examples hold", []string{"check", strict}},
				{exitMisuse, "rule instruction: rules[1].when", []string{"check", broken}},
				{exitMisuse, `example "a doubtful one is reviewed"`, []string{"activate", odd}},
				{exitDone, policy.Default().Text(), []string{"show"}},
				{exitDone, "2 decisions", []string{"simulate"}},
				{exitDone, "promoted      would be review              1", []string{"simulate", strict}},
				{exitDone, "0 decisions", []string{"simulate", strict, "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-02T00:00:00Z"}},
				{exitMisuse, "from", []string{"simulate", "--from", "yesterday"}},
				{exitDone, "2 decisions, 2 are the same", []string{"verify"}},
				{exitFailed, "conflict", []string{"activate", strict, "--expect", "7"}},
				{exitDone, "in force: promotion version 2, at ", []string{"activate", strict, "--expect", "1"}},
				{exitDone, "cand.confidence < 0.999", []string{"show"}},
				{exitDone, "version 1 ", []string{"history"}},
				{exitDone, "version 2 ", []string{"history"}},
				{exitDone, "2 decisions, 2 are the same", []string{"verify"}},
			} {
				if out := run(c.want, append([]string{"policy"}, c.args...)...); !strings.Contains(out, c.says) {
					t.Errorf("policy %q says nothing of %q: %s", c.args, c.says, out)
				}
			}
			out := run(exitDone, "propose", "maria", "badge", "red", "--source", captured.ID, "--confidence", "0.99", "--observed-at", "2026-01-02T03:04:05+01:00")
			if !strings.HasPrefix(out, "review") || !strings.Contains(out, "below_threshold") {
				t.Errorf("propose: %s", out)
			}
		})
	}
}
