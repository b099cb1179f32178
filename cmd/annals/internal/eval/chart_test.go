package eval_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/eval"
)

// element is one of a drawing, with what it says.
type element struct {
	name, text string
	attrs      map[string]string
}

func elements(t *testing.T, drawing []byte) []element {
	t.Helper()
	var all []element
	d := xml.NewDecoder(bytes.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("it is no XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 && all[len(all)-1].text == "" {
				all[len(all)-1].text = strings.TrimSpace(string(token))
			}
		default:
		}
	}
}

// Each figure has its name, its value, its n and a bar as long as it; what misses its
// target says so in words as well; and the drawing needs nothing from outside.
func TestChart(t *testing.T) {
	t.Parallel()
	const hostile = `<script>alert("x")</script>`
	report := eval.AllReport{
		At: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), Version: "v1", Runs: make([]eval.Run, 2),
		Figures: []eval.Figure{
			{Set: hostile, Eval: "retrieval", Measure: "recall@5", Value: 0.25, N: 40, Target: &eval.Goal{Value: 0.5}},
			{Set: "other", Eval: "asof", Measure: "exact", Value: 0.9955, N: 7, Interval: &eval.Interval{Low: 0.5, High: 1}, Target: &eval.Goal{Value: 0.5, Met: true}},
		},
	}
	var out bytes.Buffer
	if err := eval.Chart(&out, &report); err != nil {
		t.Fatal(err)
	}
	var said []string
	bars := map[string]string{}
	for _, e := range elements(t, out.Bytes()) {
		said = append(said, e.text)
		for name, value := range e.attrs {
			if name == "href" || strings.HasPrefix(name, "on") || strings.Contains(value, "url(") {
				t.Errorf("it refers to %s=%q", name, value)
			}
		}
		if e.name == "script" || e.name == "image" || e.name == "foreignObject" {
			t.Errorf("it holds a %s", e.name)
		}
		if class := e.attrs["class"]; e.name == "rect" && strings.HasPrefix(class, "bar") && e.attrs["width"] != "24" {
			bars[e.attrs["width"]] = class
		}
		if y, err := strconv.Atoi(e.attrs["y"]); err == nil && y > 400 {
			t.Errorf("%q stands below the drawing, at %d", e.text, y)
		}
	}
	for _, want := range []string{
		"What Annals finds, answers and keeps out", "annals eval, 2 measurements, 2026-03-04, version v1",
		hostile + ": retrieval", "recall@5", ".250", "n 40, wanted ≥ .500: missed",
		"other: asof", "exact", ".9955", "n 7, .500 to 1, wanted ≥ .500",
		"0.0", "1.0", "share, or mean score of a question, from 0 to 1 (no unit)",
	} {
		found := false
		for _, s := range said {
			found = found || s == want
		}
		if !found {
			t.Errorf("it does not say %q, but %q", want, said)
		}
	}
	if bars["100"] != "bar missed" || bars["398"] != "bar" {
		t.Errorf("bars %v", bars)
	}
	if !strings.Contains(out.String(), "prefers-color-scheme: dark") {
		t.Error("it has no colours for a dark page")
	}
}
