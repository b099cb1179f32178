package main

import (
	"strings"
	"testing"
)

// Holds and consents from the command line, and the list of erasures.
func TestHoldsAndConsents(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != want {
			t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out
	}
	has := func(out string, all ...string) {
		t.Helper()
		for _, s := range all {
			if !strings.Contains(out, s) {
				t.Errorf("%q has no %q", out, s)
			}
		}
	}
	run(exitDone, "capture", "a/b", "She plays the cello.")
	has(run(exitDone, "hold", "list", "a/b"), "0 holds")
	has(run(exitDone, "hold", "add", "a/b", "case/7"), "held, at ")
	has(run(exitDone, "hold", "list", "a/b"), "since ", "1 holds")
	has(run(exitDone, "hold", "remove", "a/b", "case/7"), "not held, at ")
	run(exitFailed, "hold", "list", "nobody")
	run(exitMisuse, "hold", "add", "a/b")
	has(run(exitDone, "consent", "grant", "a/b", "health", "--basis", "form 7"), "granted, at ")
	has(run(exitDone, "consent", "list", "a/b"), "granted ", "health", "form 7")
	has(run(exitDone, "consent", "withdraw", "a/b", "health"), "nothing was kept under it")
	has(run(exitDone, "consent", "list", "a/b"), "withdrawn ", "health")
	has(run(exitDone, "consent", "list", "a/b", "--history"), "granted ", "withdrawn ", "form 7")
	has(run(exitDone, "forget", "--subject", "nobody"), "nothing matched")
	if out := run(exitDone, "erasure"); out != "" {
		t.Errorf("erasures before: %q", out)
	}
	has(run(exitDone, "forget", "--subject", "a/b", "--dry-run"), "1 would be forgotten")
	has(run(exitDone, "forget", "--subject", "a/b"), "forgot 1, ")
	has(run(exitDone, "erasure"), "1 matched by subject")
	run(exitMisuse, "erasure", "x", "--limit", "1")
}
