package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain brings a text to the form in which rules are looked for: compatibility
// forms, accents and invisible characters gone, in lower case. Rules go the
// same way, so that what is lost is lost on both sides.
func plain(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	b := make([]byte, 0, len(s)+len(s)/2)
	slow := 0 // what begins here is not brought to form yet
	for i, r := range s {
		if !simple(r) {
			continue
		}
		b = appendForm(b, s[slow:i])
		n := utf8.RuneLen(r)
		slow = i + n
		switch {
		case r < utf8.RuneSelf, ideograph(r):
			b = appendPlain(b, r)
		case hangulFirst <= r && r <= hangulLast:
			b = appendHangul(b, r-hangulFirst)
		default:
			d := norm.NFKD.PropertiesString(s[i:]).Decomposition()
			if d == nil {
				b = appendPlain(b, r)
				break
			}
			for len(d) > 0 {
				part, size := utf8.DecodeRune(d)
				b = appendPlain(b, part)
				d = d[size:]
			}
		}
	}
	return string(appendForm(b, s[slow:]))
}

// Hangul syllables are taken apart by arithmetic.
const (
	hangulFirst = 0xAC00
	hangulLast  = 0xD7A3
)

// simple reports whether a character can be brought to form without those that
// follow: it is no mark, and has none in its form that stay.
func simple(r rune) bool {
	switch {
	case r < 0x0300, 0x0370 <= r && r <= 0x0482, 0x048A <= r && r <= 0x058F, // Latin, Greek, Cyrillic, Armenian
		0x1E00 <= r && r <= 0x1FFF, // Latin and Greek with accents
		hangulFirst <= r && r <= hangulLast:
		return true
	}
	return ideograph(r)
}

func ideograph(r rune) bool { return 0x4E00 <= r && r <= 0x9FFF }

// appendForm appends the form of any text.
func appendForm(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	for _, r := range norm.NFKD.String(s) {
		b = appendPlain(b, r)
	}
	return b
}

// appendPlain appends a character of a decomposed text.
func appendPlain(b []byte, r rune) []byte {
	switch {
	case 'A' <= r && r <= 'Z':
		return append(b, byte(r+'a'-'A'))
	case r < utf8.RuneSelf:
		return append(b, byte(r)) //nolint:gosec // ASCII
	case ideograph(r):
		return utf8.AppendRune(b, r)
	case ignorable(r):
		return b
	}
	return utf8.AppendRune(b, unicode.ToLower(r))
}

// appendHangul appends the letters of the syllable with a number.
func appendHangul(b []byte, n rune) []byte {
	const vowels, tails = 21, 28
	b = utf8.AppendRune(b, 0x1100+n/(vowels*tails))
	b = utf8.AppendRune(b, 0x1161+n/tails%vowels)
	if tail := n % tails; tail > 0 {
		b = utf8.AppendRune(b, 0x11A7+tail)
	}
	return b
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// ignorable reports whether a character has no width or only decorates the one
// before it.
func ignorable(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x034F, r == 0x061C, r == 0x0640, r == 0x180E, r == 0xFEFF,
		0x0300 <= r && r <= 0x036F, // accents
		0x064B <= r && r <= 0x0652, // Arabic vowel signs
		0x0591 <= r && r <= 0x05C7, // Hebrew points
		0x115F <= r && r <= 0x1160, 0x17B4 <= r && r <= 0x17B5, 0x180B <= r && r <= 0x180F,
		0x200B <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x2060 <= r && r <= 0x206F,
		0x20D0 <= r && r <= 0x20FF, r == 0x3164, 0xFE00 <= r && r <= 0xFE0F, r == 0xFFA0, 0xFFF0 <= r && r <= 0xFFF8,
		0x1BCA0 <= r && r <= 0x1BCA3, 0x1D173 <= r && r <= 0x1D17A, 0xE0000 <= r && r <= 0xE0FFF:
		return true
	}
	return false
}

// lookalike is the Latin letter that another character is taken for, or 0.
// It is asked in lower case.
func lookalike(r rune) byte {
	switch r {
	case 'а', 'α', 'ɑ':
		return 'a'
	case 'ь', 'в', 'β':
		return 'b'
	case 'с', 'ϲ', 'ᴄ':
		return 'c'
	case 'ԁ', 'ɗ':
		return 'd'
	case 'е', 'є', 'ε', 'ҽ', 'ᴇ':
		return 'e'
	case 'ƒ':
		return 'f'
	case 'ɡ', 'ց':
		return 'g'
	case 'һ', 'н', 'հ':
		return 'h'
	case 'і', 'ı', 'ι', 'ɩ', 'ɪ', 'ӏ':
		return 'i'
	case 'ј', 'ϳ':
		return 'j'
	case 'к', 'κ':
		return 'k'
	case 'ⅼ', 'ʟ', 'ł':
		return 'l'
	case 'м', 'ᴍ':
		return 'm'
	case 'п', 'η', 'ո', 'ɴ':
		return 'n'
	case 'о', 'ο', 'σ', 'օ', 'ø', 'ᴏ':
		return 'o'
	case 'р', 'ρ', 'þ':
		return 'p'
	case 'ԛ', 'գ':
		return 'q'
	case 'г', 'ʀ':
		return 'r'
	case 'ѕ', 'ꜱ':
		return 's'
	case 'т', 'τ', 'ᴛ':
		return 't'
	case 'υ', 'ս', 'ᴜ':
		return 'u'
	case 'ν', 'ѵ', 'ᴠ':
		return 'v'
	case 'ԝ', 'ω', 'ѡ', 'ᴡ':
		return 'w'
	case 'х', 'χ':
		return 'x'
	case 'у', 'γ', 'ү', 'ʏ':
		return 'y'
	case 'ᴢ', 'ʐ':
		return 'z'
	}
	return 0
}

// digitLetter is the letter that a digit or sign stands for inside a word, or 0.
func digitLetter(r rune) byte {
	switch r {
	case '0':
		return 'o'
	case '1':
		return 'i'
	case '3':
		return 'e'
	case '4', '@':
		return 'a'
	case '5', '$':
		return 's'
	case '7':
		return 't'
	}
	return 0
}

// unspaced reports whether the script of a character is written without spaces
// between words.
func unspaced(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF, // Thai, Lao
		0x1000 <= r && r <= 0x109F, 0x1780 <= r && r <= 0x17FF, // Burmese, Khmer
		0x3040 <= r && r <= 0x30FF, 0x3400 <= r && r <= 0x4DBF, 0x4E00 <= r && r <= 0x9FFF, 0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x3FFFF:
		return true
	}
	return false
}
