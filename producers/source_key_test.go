package producers_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

// A call that found its revision current has the same answer under its key for ever,
// and does not make it current again; another key does.
func TestReviseKeyOfNothing(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		revise := func(key, revision string) (uint64, error) {
			w, err := s.open(t).ReviseSource(t.Context(), user("acme"), key, producers.ReviseRequest{
				Source: events.Source{Kind: "guideline", Ref: "bp"}, Revision: revision,
			})
			return w.Position, err
		}
		first, err := revise("", "2025")
		if err != nil {
			t.Fatal(err)
		}
		if told, err := revise("key", "2025"); err != nil || told != first {
			t.Fatalf("already current: %d, %v, want %d", told, err, first)
		}
		if later, err := revise("later", "2026"); err != nil || later <= first {
			t.Fatalf("%d, %v", later, err)
		}
		n := f.messages()
		if told, err := revise("key", "2025"); err != nil || told != first {
			t.Errorf("again: %d, %v, want %d", told, err, first)
		}
		if _, err := revise("key", "2026"); !errors.Is(err, events.ErrKeyReused) {
			t.Errorf("another revision under the key: %v", err)
		}
		if m := f.messages(); m != n {
			t.Errorf("%d messages, want %d", m, n)
		}
		if back, err := revise("back", "2025"); err != nil || back <= first || f.messages() != n+1 {
			t.Errorf("control: another key: %d, %v", back, err)
		}
	})
}

// Blanks around a revision or a kind are refused; those inside are not.
func TestSourceBlanks(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	for _, padded := range []func(string) string{
		func(s string) string { return " " + s },
		func(s string) string { return s + " " },
		func(s string) string { return "\u00a0" + s },
		func(s string) string { return s + "\u2003" },
	} {
		_, err := f.ReviseSource(t.Context(), user("acme"), "", producers.ReviseRequest{
			Source: events.Source{Kind: "guideline", Ref: "bp"}, Revision: padded("2025"),
		})
		wantInput(t, err, events.Malformed, "surrounding_blank", "revision")
		e := episode("maria", "hello")
		e.Source.Revision = padded("2025")
		_, err = f.Capture(t.Context(), user("acme"), "", e)
		wantInput(t, err, events.Malformed, "surrounding_blank", "source.revision")
		r := claim(`"Rome"`, day(3))
		r.Provenance = []events.Source{{Kind: padded("trace"), Ref: "x"}}
		_, err = f.Propose(t.Context(), user("acme"), "", r)
		wantInput(t, err, events.Malformed, "surrounding_blank", "provenance[0].kind")
	}
	_, err := f.ReviseSource(t.Context(), user("acme"), "", producers.ReviseRequest{
		Source: events.Source{Kind: "clinical guideline", Ref: "bp"}, Revision: "2nd edition",
	})
	if err != nil {
		t.Errorf("blanks inside: %v", err)
	}
}
