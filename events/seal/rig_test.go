package seal_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

// What is sealed is readable in a build with the rig and in no other; it opens
// for its label alone in both.
func TestPlaintextRig(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	rec, _, err := w.ring.CreateRecord(t.Context(), w.scope, "r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	word := []byte(strings.Repeat("readable ", 3))
	label := seal.Label{Aggregate: "a", Record: "r1", EventType: "e", Part: "text"}
	sealed, err := rec.Seal(label, word)
	if err != nil {
		t.Fatal(err)
	}
	if got := bytes.Contains(sealed, word); got != seal.PlaintextRig {
		t.Errorf("readable: %v, in a build with the rig: %v", got, seal.PlaintextRig)
	}
	if len(sealed) != len(word)+seal.Overhead {
		t.Errorf("%d bytes for %d", len(sealed), len(word))
	}
	if opened, err := rec.Open(label, sealed); err != nil || !bytes.Equal(opened, word) {
		t.Errorf("%q, %v", opened, err)
	}
	other := label
	other.Part = "value"
	if _, err := rec.Open(other, sealed); !errors.Is(err, seal.ErrTampered) {
		t.Errorf("under another label: %v", err)
	}
	for at := range sealed {
		changed := bytes.Clone(sealed)
		changed[at] ^= 1
		if _, err := rec.Open(label, changed); !errors.Is(err, seal.ErrTampered) {
			t.Errorf("changed at %d: %v", at, err)
		}
	}
}
