package suppression

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normal is the form of a value in which it is compared.
func Normal(value string) string {
	visible := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			return -1
		}
		return r
	}, norm.NFKC.String(value))
	// Lower case can leave what composes again.
	return strings.Join(strings.Fields(norm.NFKC.String(strings.ToLower(visible))), " ")
}
