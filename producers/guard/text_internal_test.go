package guard

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// slowPlain says what plain is, in the simplest way.
func slowPlain(s string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(s, "\ufffd")) {
		if !ignorable(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// TestPlain compares the form of a text with its definition.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, r := range []*unicode.RangeTable{unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C} {
		rapid.Check(t, func(t *rapid.T) {
			parts := rapid.OneOf(
				rapid.StringOf(rapid.RuneFrom(nil, r)), rapid.String(), rapid.StringN(0, 4, 8),
				rapid.StringOf(rapid.RuneFrom([]rune("aAéÉ\u0301\u0323\u0483\u00ad각가忽がゔ\u3099İßﬁﾊﾞ नि़क़й\u093cกำ")))).Draw(t, "text")
			text := strings.Join([]string{parts, rapid.StringOf(rapid.RuneFrom(nil, unicode.Han, unicode.Hangul, unicode.M, unicode.Latin, unicode.Cyrillic)).Draw(t, "more")}, "")
			if got, want := plain(text), slowPlain(text); got != want {
				t.Errorf("%+q: %+q, want %+q", text, got, want)
			}
		})
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		text := string(r)
		if got, want := plain(text), slowPlain(text); got != want {
			t.Fatalf("%U: %+q, want %+q", r, got, want)
		}
	}
}
