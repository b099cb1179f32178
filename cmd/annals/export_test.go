package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An export does the same with a server and without one, and can be verified
// where there is neither.
func TestExportCommand(t *testing.T) {
	t.Parallel()
	for name, served := range map[string]bool{"on the directory": false, "through a server": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			data, file := filepath.Join(dir, "data"), filepath.Join(dir, "maria.jsonl")
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
			run(exitDone, "capture", "maria", "She moved to Porto.")
			run(exitDone, "capture", "verify", "A subject with the name of a command.")
			run(exitDone, "export", "maria", "--out", file)
			if out := run(exitDone, "export", "maria"); !strings.Contains(out, "She moved to Porto.") || !strings.Contains(out, `"type":"manifest"`) {
				t.Errorf("to standard output: %s", out)
			}
			if out := run(exitDone, "export", "of", "verify"); !strings.Contains(out, "name of a command") {
				t.Errorf("of a subject named like a command: %s", out)
			}
			if out := run(exitDone, "export", "verify", file); !strings.Contains(out, "1 episodes, 0 facts") {
				t.Errorf("verify: %s", out)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			key := filepath.Join(dir, "the.pub")
			pub, err := os.ReadFile(filepath.Join(data, "ledger.pub"))
			if err != nil {
				t.Fatal(err)
			}
			altered := filepath.Join(dir, "altered.jsonl")
			for path, content := range map[string][]byte{key: pub, altered: []byte(strings.Replace(string(b), "Porto", "Lagos", 1))} {
				if err := os.WriteFile(path, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run(exitDone, "export", "verify", file, "--key", key)
			run(exitFailed, "export", "verify", altered, "--key", key)
			run(exitMisuse, "export", "verify", file, "--key", altered)
			run(exitFailed, "export", "nobody", "--out", filepath.Join(dir, "nobody.jsonl"))
			left, err := filepath.Glob(filepath.Join(dir, "nobody*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

func TestRetentionCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, file, bad := filepath.Join(dir, "data"), filepath.Join(dir, "retention.yaml"), filepath.Join(dir, "bad.yaml")
	for path, text := range map[string]string{
		file: "version: 1\ndefault: keep\ncategories: {support: {episodes: 90d}}\n", bad: "version: 1\ndefault: soon\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != want {
			t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out + errs
	}
	run(exitDone, "capture", "maria", "A ticket.", "--category", "support")
	if out := run(exitDone, "retention", "preview"); !strings.Contains(out, "no schedule") {
		t.Errorf("without a schedule: %s", out)
	}
	if out := run(exitDone, "retention", "preview", "--schedule", file, "--at", "2190-01-01T00:00:00Z"); !strings.Contains(out, "1 would be erased") || !strings.Contains(out, "90d") {
		t.Errorf("preview: %s", out)
	}
	if out := run(exitMisuse, "serve", "--retention", bad, "--addr", "127.0.0.1:0"); !strings.Contains(out, "line 2") || strings.Contains(out, "soon") {
		t.Errorf("a bad file: %s", out)
	}
	s := serve(t, data, "--retention", file)
	defer s.stop()
	if out := run(exitDone, "retention", "preview", "--at", "2190-01-01T00:00:00Z"); !strings.Contains(out, "1 would be erased") {
		t.Errorf("through a server: %s", out)
	}
	run(exitMisuse, "retention", "preview", "--schedule", file)
}
