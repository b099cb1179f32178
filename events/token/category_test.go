package token_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events/token"
)

func TestCategoryName(t *testing.T) {
	t.Parallel()
	for _, same := range []string{
		"health", "Health", "HEALTH", " health", "health\t", "hea\u200blth", "\uff48ealth", "he\u00adalth", "health\ufe0f",
	} {
		if got := token.CategoryName(same); got != "health" {
			t.Errorf("%q is %q", same, got)
		}
	}
	for _, other := range []string{"healthy", "hea lth", "h\u00e9alth", "\u0441are"} { // the last begins with a Cyrillic letter
		if got := token.CategoryName(other); got == "health" || got == "care" {
			t.Errorf("%q is %q", other, got)
		}
	}
	if got := token.CategoryName("Union  Membership"); got != "union membership" {
		t.Errorf("blanks: %q", got)
	}
	if got := token.CategoryName("\u200b"); got != "\u200b" {
		t.Errorf("nothing is left: %q", got)
	}
}

// To name what has its name already changes nothing.
func TestCategoryNameTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		once := token.CategoryName(rapid.String().Draw(t, "name"))
		if twice := token.CategoryName(once); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
	})
}
