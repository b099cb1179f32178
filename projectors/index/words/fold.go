package words

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold takes from a lower-case word what people leave out when they type: accents of Latin and Greek, vowel points of Arabic
// and Hebrew, the two dots of the Russian ё, and letters that are written in more than one way. Marks that tell letters
// apart, as those of the scripts of India do, stay.
func fold(word string) string {
	if ascii(word) {
		return word
	}
	var b strings.Builder
	b.Grow(len(word))
	bare := false // marks of the letter before are left out
	for _, r := range strings.ReplaceAll(norm.NFD.String(word), "е\u0308", "е") {
		if unicode.Is(unicode.Mn, r) {
			if !bare {
				b.WriteRune(r)
			}
			continue
		}
		bare = unicode.In(r, unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew)
		switch r {
		case 'ß':
			b.WriteString("ss")
		case 'æ':
			b.WriteString("ae")
		case 'œ':
			b.WriteString("oe")
		case 'ø':
			b.WriteByte('o')
		case 'ł':
			b.WriteByte('l')
		case 'đ', 'ð':
			b.WriteByte('d')
		case 'þ':
			b.WriteString("th")
		case 'ı':
			b.WriteByte('i')
		case 'ς':
			b.WriteRune('σ')
		case 'ى', 'ی': // alef maksura and the Persian yeh
			b.WriteRune('ي')
		case 'ک': // the Persian kaf
			b.WriteRune('ك')
		case 'ة': // the feminine ending
			b.WriteRune('ه')
		case 'ٱ': // alef wasla
			b.WriteRune('ا')
		case 'ـ': // tatweel, which only stretches a word
		default:
			b.WriteRune(r)
		}
	}
	// Lower case and the parts can undo the normal form, so it is made again.
	return norm.NFKC.String(b.String())
}
