package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// Without a name the whole set is measured, as with the name all: a table, and with
// --out the figures and the chart.
func TestEvalAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, out := filepath.Join(dir, "data"), filepath.Join(dir, "out", "deep")
	for name, file := range map[string][2]string{
		"persons": {"presidio_generated_small.json", `[{"full_text":"Write to ada@example.org.","spans":[{"entity_type":"EMAIL_ADDRESS","start_position":9,"end_position":24}]}]`},
		"notes":   {"notes.txt", "nothing"},
	} {
		if err := os.MkdirAll(filepath.Join(data, name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name, file[0]), []byte(file[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"eval", data}, {"eval", "all", data}} {
		table, errs, code := annals(t, append(args, "--out", out)...)
		if code != exitDone {
			t.Fatalf("annals %q: exit %d: %s%s", args, code, table, errs)
		}
		for _, want := range []string{"wanted", "EMAIL_ADDRESS recall", "notes                is no known data set", "1 measurement in"} {
			if !strings.Contains(table, want) {
				t.Errorf("annals %q does not say %q: %s", args, want, table)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "eval.json"))
	if err != nil {
		t.Fatal(err)
	}
	var written struct {
		Figures []struct {
			Set, Measure string
			Value        float64
			N            int
			Interval     *struct{ Low, High float64 }
		}
	}
	if err := json.Unmarshal(text, &written, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(written.Figures) != 2 || written.Figures[0].Set != "persons" || written.Figures[0].Value != 1 || written.Figures[0].Interval == nil {
		t.Errorf("figures %+v", written.Figures)
	}
	if drawn, err := os.ReadFile(filepath.Join(out, "eval.svg")); err != nil || !strings.HasPrefix(string(drawn), "<svg") {
		t.Errorf("chart: %v", err)
	}
	for name, bad := range map[string][]string{
		"absent":     {"eval", filepath.Join(dir, "none")},
		"known data": {"eval", filepath.Join(data, "notes")},
	} {
		if _, errs, code := annals(t, bad...); code != exitFailed || !strings.Contains(errs, name) {
			t.Errorf("annals %q: exit %d: %s", bad, code, errs)
		}
	}
}
