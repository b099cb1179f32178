package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readmeCommands are the lines of the README's shell blocks.
func readmeCommands(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		for line := range strings.Lines(block[1]) {
			if line, _, _ = strings.Cut(line, " #"); strings.TrimSpace(line) != "" {
				all = append(all, strings.TrimSpace(line))
			}
		}
	}
	return all
}

// TestReadme runs the README's own commands, in their order, in a shell.
func TestReadme(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, work := t.TempDir(), t.TempDir()
	if err := os.Symlink(exe, filepath.Join(bin, "annals")); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "ANNALS_TEST_COMMAND=1", "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	episode := "EPISODE"
	ran := 0
	for _, line := range readmeCommands(t) {
		switch {
		case line == "make test", strings.HasPrefix(line, "go build "):
			continue // that is what runs this
		case strings.HasPrefix(line, "go run ./cmd/annals "):
			line = strings.Replace(line, "go run ./cmd/annals", "annals", 1)
		case strings.HasPrefix(line, "bin/annals serve "):
			s := serve(t, filepath.Join(work, "served"))
			s.stop()
			ran++
			continue
		}
		c := exec.CommandContext(t.Context(), "bash", "-euc", strings.ReplaceAll(line, "EPISODE", episode))
		c.Dir, c.Env = work, env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if strings.Contains(line, " capture ") {
			episode = strings.Fields(string(out))[1]
		}
		for _, want := range []struct{ command, text string }{
			{" recall ", "4 Mill Lane"}, {" propose ", "promoted"}, {" forget ", "shredded"}, {" replay", "equal"}, {" scan ", "0 hits"}, {" backup ", "keep data, keys and ledger"}, {" demo", "everything else was rebuilt"},
		} {
			if strings.Contains(line, want.command) && !strings.Contains(string(out), want.text) {
				t.Errorf("%s: %q is not in its output:\n%s", line, want.text, out)
			}
		}
		ran++
	}
	if ran < 8 {
		t.Errorf("only %d commands of the README were run", ran)
	}
}

// TestPromises holds the README's table to tests that exist.
func TestPromises(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)` in `([a-z/]+)`").FindAllStringSubmatch(string(b), -1)
	if len(names) < 9 {
		t.Fatalf("the README names %d tests", len(names))
	}
	for _, n := range names {
		files, err := filepath.Glob(filepath.Join("../..", n[2], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(src), "func "+n[1]+"(t *testing.T)")
		}
		if !found {
			t.Errorf("%s is not in %s", n[1], n[2])
		}
	}
}
