package token

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// CategoryName returns the name that a consent category is known by, whatever it
// is spelt like: in Unicode normalization form KC, with the case folded, without
// characters that show nothing, and with single blanks within. A consent that is
// asked for, or was taken back, must not be got around by a spelling. A name of
// which nothing would be left stays as it is.
//
// Letters of other scripts that look alike are other letters here; see [MixesScripts].
func CategoryName(name string) string {
	folded := cases.Fold().String(norm.NFKC.String(name))
	shown := strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		return oneCase(r)
	}, folded)
	if out := norm.NFKC.String(strings.Join(strings.Fields(shown), " ")); out != "" {
		return out
	}
	return NFC(name)
}

// oneCase is the same for all letters that differ in case alone, also for those of
// scripts that the folding takes from small to capital.
func oneCase(r rune) rune {
	first := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		first = min(first, other)
	}
	return unicode.ToLower(first)
}
