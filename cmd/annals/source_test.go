package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// A guideline is revised from the command line, and a source is revoked.
func TestSourceCommands(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, data)
	defer s.stop()
	ok := func(args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != exitDone {
			t.Fatalf("annals %q: exit %d: %s%s", args, code, out, errs)
		}
		return out
	}
	of := []string{"--source-kind", "guideline", "--source-ref", "bp", "--revision"}
	ok(append([]string{"capture", "cardiology", "Treat above a threshold of 140."}, append(of, "2025")...)...)
	ok(append([]string{"capture", "cardiology", "Treat above a threshold of 130."}, append(of, "2026")...)...)
	ok("source", "revise", "guideline", "bp", "2025")
	if out := ok("recall", "threshold to treat"); !strings.Contains(out, "140") || strings.Contains(out, "130") {
		t.Errorf("before: %s", out)
	}
	if out := ok("source", "revise", "guideline", "bp", "2026"); !strings.HasPrefix(out, "current at ") {
		t.Errorf("revise: %s", out)
	}
	if out := ok("recall", "threshold to treat"); !strings.Contains(out, "130") || strings.Contains(out, "140") {
		t.Errorf("after: %s", out)
	}
	out := ok("source", "show", "guideline", "bp", "--revision", "2025", "--revision", "2026")
	if !strings.Contains(out, "retired   2025") || !strings.Contains(out, "current   2026") {
		t.Errorf("show: %s", out)
	}
	if out := ok("forget", "--source", "guideline", "bp", "--dry-run"); !strings.HasPrefix(out, "2 would be forgotten") {
		t.Errorf("dry run: %s", out)
	}
	if out := ok("forget", "--source", "guideline", "bp"); !strings.HasPrefix(out, "forgot 2,") {
		t.Errorf("forget: %s", out)
	}
	if out := ok("forget", "--principal", "nobody", "--dry-run"); !strings.HasPrefix(out, "0 would be forgotten") {
		t.Errorf("dry run of a principal: %s", out)
	}
	for _, wrong := range [][]string{{"forget", "--source", "guideline"}, {"forget", "--source", "a", "b", "--subject", "c"}} {
		if _, _, code := annals(t, append(wrong, "--data", data)...); code != exitMisuse {
			t.Errorf("annals %q: exit %d", wrong, code)
		}
	}
}
