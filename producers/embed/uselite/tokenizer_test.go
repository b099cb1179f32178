package uselite

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTokenizerReadsABoundedPrefix(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		text string
		n    int
		want int // Bytes.
	}{
		{"", 3, 0},
		{"abc", 3, 3},
		{"abcd", 3, 3},
		{"äöüß", 3, 6},
		{"äöü", 3, 6},
		{"\xff\xff\xff\xff", 3, 3},
		{"a", 0, 0},
	} {
		if got := firstRunes(tt.text, tt.n); got != tt.text[:tt.want] {
			t.Errorf("firstRunes(%q, %d) = %q", tt.text, tt.n, got)
		}
	}

	words := network(t).words
	if got := len(words.prepare(strings.Repeat("a", maxRunes+100))); got != maxRunes+1 {
		t.Errorf("%d runes", got)
	}

	longest := 0
	for _, n := range words.lengths {
		longest = max(longest, n)
	}

	if maxRunes < maxWindows*maxTokens*longest {
		t.Errorf("a text of pieces of %d characters would not fill the windows", longest)
	}
}

// TestTokenizerJoinsUnknown pins what the reference does with characters that no piece covers.
func TestTokenizerJoinsUnknown(t *testing.T) {
	t.Parallel()

	words := network(t).words
	one, many := words.encode("a \u65e5 b"), words.encode("a \u65e5\u672c\u8a9e b")

	if len(one) != len(many) {
		t.Errorf("one unknown character: %v, three: %v", one, many)
	}

	unknowns := 0

	for _, id := range many {
		if id == unknown {
			unknowns++
		}
	}

	if unknowns != 1 {
		t.Errorf("%v has %d unknown tokens", many, unknowns)
	}
}

func FuzzTokenizer(f *testing.F) {
	words := network(f).words

	for _, seed := range []string{
		"", "hello", " ", "\x00", "a\x00b", "\xff\xc0\x80", "\xed\xa0\x80", "\u2581\u2581a", "\ufdfa\ufdfa", "\U0010ffff",
		"e\u0301\u0301\u0301", "\u200d\u202e\ufeff", "\u1100\u1161\u11a8", strings.Repeat("\u0300", 300),
		strings.Repeat("-", 300), strings.Repeat("\ufdfa", 3000), strings.Repeat("x ", 3000),
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, text string) {
		ids := words.encode(text)
		runes := 0

		for i, id := range ids {
			if id < 0 || int(id) >= len(words.lengths) || id != unknown && id < reserved {
				t.Fatalf("token %d is %d", i, id)
			}

			if id == unknown && i > 0 && ids[i-1] == unknown {
				t.Fatalf("tokens %d and %d are both unknown", i-1, i)
			}

			runes += words.lengths[id]
		}

		if prepared := len(words.prepare(text)); runes > prepared {
			t.Fatalf("%d characters in tokens of a text of %d", runes, prepared)
		}

		if text == "" && ids != nil {
			t.Fatal("the empty text has tokens")
		}

		if utf8.ValidString(text) && len(text) < maxRunes && ids != nil {
			if again := words.encode(text); len(again) != len(ids) {
				t.Fatal("another answer the second time")
			}
		}
	})
}
