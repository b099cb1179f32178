package token_test

import (
	"testing"

	"github.com/annals-memory/annals/events/token"
)

// TestDecisionForEver holds the id of a decision against what the first version
// made.
func TestDecisionForEver(t *testing.T) {
	t.Parallel()
	const candidate = "0386843d-0e44-8963-b5d7-04ab763d55a2"
	if got, want := token.Decision(candidate), "4d6e9a34-58a0-88c0-b23d-3a399ed18f29"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if token.Decision(candidate) == token.Vector("decision", candidate) || token.Decision(candidate) == candidate {
		t.Error("a decision has the id of something else")
	}
}
