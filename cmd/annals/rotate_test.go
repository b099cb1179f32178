package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The root key is rotated with a server and without one, and what was kept can be
// read afterwards; with the key file of before nothing can.
func TestRotateRootCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != want {
			t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out
	}
	run(exitMisuse, "rotate-root")
	run(exitMisuse, "serve", "--root-rotation", "720h", "--nats", "nats://127.0.0.1:1")
	run(exitMisuse, "serve", "--root-rotation", "-1h")
	run(exitDone, "capture", "maria", "She moved to Porto.")
	key := filepath.Join(data, "root.key")
	old, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if out := run(exitDone, "rotate-root"); !strings.Contains(out, "epoch 1, ") || !strings.Contains(out, "epoch 2, ") {
		t.Errorf("on the directory: %s", out)
	}
	s := serve(t, data, "--root-rotation", "720h")
	var out rootRotation
	if err := json.Unmarshal([]byte(run(exitDone, "rotate-root", "--json")), &out); err != nil || out.Old.Number != 2 || out.New.Number != 3 {
		t.Errorf("through a server: %+v, %v", out, err)
	}
	if got := run(exitDone, "recall", "where did she move to"); !strings.Contains(got, "Porto") {
		t.Errorf("recall: %s", got)
	}
	s.stop()
	if got := run(exitDone, "recall", "where did she move to"); !strings.Contains(got, "Porto") {
		t.Errorf("recall on the directory: %s", got)
	}
	if err := os.WriteFile(key, old, 0o600); err != nil {
		t.Fatal(err)
	}
	run(exitFailed, "capture", "maria", "She plays the cello.")
}
