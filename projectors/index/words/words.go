package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// MaxWord is the length in bytes beyond which a run of letters and digits is no word but data, such as an encoded file. It
// is cut to this length, and not stemmed.
const MaxWord = 64

// Terms returns the terms of text in order, with repetitions: normalised by NFKC, in lower case, without English stop words
// and stemmed. Their number is the length that BM25 asks for.
func Terms(text string) []string {
	var s splitter
	// Before NFKC, since it does not take away invalid bytes; after it, since it can bring capitals.
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	for i, r := range text {
		s.next(i, r, text)
	}
	s.end(len(text), text)
	return s.terms
}

// script is how a character takes part in words.
type script uint8

const (
	gap script = iota
	letters
	pairs
)

func scriptOf(r rune) script {
	if r < utf8.RuneSelf {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return letters
		}
		return gap
	}
	switch {
	case r >= firstPaired && unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana), r == 'ー':
		if unicode.IsLetter(r) {
			return pairs
		}
		return gap
	case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
		return letters
	}
	return gap
}

// firstPaired is the first character of the scripts that are cut into pairs, the first of Hangul.
const firstPaired = 0x1100

// splitter collects terms from one character after another.
type splitter struct {
	terms []string
	kind  script
	start int // of the run
	// In a run of pairs: where the character before begins, and whether the run has more than one.
	before int
	many   bool
}

func (s *splitter) next(at int, r rune, text string) {
	kind := scriptOf(r)
	if kind != s.kind {
		s.end(at, text)
		s.kind, s.start, s.before, s.many = kind, at, at, false
		return
	}
	if kind == pairs {
		s.terms = append(s.terms, text[s.before:at+utf8.RuneLen(r)])
		s.before, s.many = at, true
	}
}

// end ends the run at the given place.
func (s *splitter) end(at int, text string) {
	switch s.kind {
	case letters:
		s.word(text[s.start:at])
	case pairs:
		if !s.many {
			s.terms = append(s.terms, text[s.start:at])
		}
	case gap:
	}
	s.kind = gap
}

func (s *splitter) word(word string) {
	long := len(word) > MaxWord
	if long {
		word = strings.ToValidUTF8(word[:MaxWord], "")
	}
	word = strings.ToLower(word)
	if !ascii(word) {
		// Lower case can undo the normal form, so it is made again.
		s.terms = append(s.terms, norm.NFKC.String(word))
		return
	}
	if stopWord(word) {
		return
	}
	if !long {
		if stem := english.Stem(word, true); stem != "" {
			word = stem
		}
	}
	s.terms = append(s.terms, word)
}

func ascii(word string) bool {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
