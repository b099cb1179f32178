package bge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/producers/embed/internal/gemm"
)

// TestTokens wants the ids of the reference implementation; of a text longer than the windows, the first of them.
func TestTokens(t *testing.T) {
	t.Parallel()

	e := network(t, gemm.Auto)
	texts := 0

	for _, c := range golden(t) {
		want := c.IDs[:min(len(c.IDs), maxWindows*(maxTokens-2))]
		got := e.Encode(c.Text)

		if got == nil && !known(want, e.words.unknown) {
			continue // It has nothing to say of the text.
		}

		texts++

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("token ids of %q (-want +got):\n%s", c.Text, diff)
		}
	}

	if texts < 30 {
		t.Errorf("%d texts", texts)
	}
}

func known(ids []int32, unknown int32) bool {
	for _, id := range ids {
		if id != unknown {
			return true
		}
	}

	return false
}
