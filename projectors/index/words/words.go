package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxWord is the length in bytes beyond which a run of letters and digits is no word but data, such as an encoded file. It
// is cut to this length, and not stemmed.
const MaxWord = 64

// Terms returns the terms of text in order, with repetitions. Their number is the length that BM25 asks for.
func Terms(text string) []string {
	// Before NFKC, since it does not take away invalid bytes; after it, since it can bring capitals.
	text = norm.NFKC.String(strings.ToValidUTF8(text, " "))
	s := splitter{language: guess(text)}
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
	// pairs are of scripts that put no spaces between words. Each two neighbours are a term.
	pairs
	// singles are pairs of a script in which one character alone may be a word, and is a term too.
	singles
)

func scriptOf(r rune) script {
	if r < utf8.RuneSelf {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return letters
		}
		return gap
	}
	isLetter := unicode.IsLetter(r)
	switch {
	case r < firstPaired:
	case isLetter && unicode.In(r, unicode.Han, unicode.Hangul):
		return singles
	case isLetter && unicode.In(r, unicode.Hiragana, unicode.Katakana), r == 'ー',
		(isLetter || unicode.IsMark(r)) && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer):
		return pairs
	}
	if isLetter || unicode.IsNumber(r) || unicode.IsMark(r) {
		return letters
	}
	return gap
}

// firstPaired is the first character of the scripts that are cut into pairs, the first of Thai.
const firstPaired = 0x0e00

// splitter collects terms from one character after another.
type splitter struct {
	terms    []string
	language language
	kind     script // letters, or pairs for both sorts of them
	start    int    // of the run
	// In a run of pairs: where the character before begins, whether the run has more than one, and whether the first is a
	// term already.
	before int
	many   bool
	single bool
}

func (s *splitter) next(at int, r rune, text string) {
	kind := scriptOf(r)
	single := kind == singles
	if single {
		kind = pairs
	}
	end := at + utf8.RuneLen(r)
	switch {
	case kind != s.kind:
		s.end(at, text)
		s.kind, s.start, s.before, s.many, s.single = kind, at, at, false, single
	case kind == pairs:
		s.terms = append(s.terms, text[s.before:end])
		s.before, s.many = at, true
	}
	if single {
		s.terms = append(s.terms, text[at:end])
	}
}

// end ends the run at the given place.
func (s *splitter) end(at int, text string) {
	switch s.kind {
	case letters:
		s.word(text[s.start:at])
	case pairs, singles:
		if !s.many && !s.single {
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
	if stopWord(word) || s.language.drops(word) {
		return
	}
	folded := fold(word)
	if folded == "" {
		return
	}
	if long {
		s.terms = append(s.terms, folded)
		return
	}
	term := stem(folded)
	s.terms = append(s.terms, term)
	if more := s.language.stemmed(word); more != "" && more != term {
		s.terms = append(s.terms, more)
	}
}

// stem takes off the endings of a folded word as its script alone tells.
func stem(word string) string {
	out := word
	first, _ := utf8.DecodeRuneInString(word)
	switch {
	case ascii(word):
		out = english.stem(word)
	case unicode.Is(unicode.Cyrillic, first):
		out = russian.stem(word)
	case unicode.Is(unicode.Arabic, first):
		out = arabicStem(word)
	}
	if out == "" {
		return word
	}
	return out
}

func ascii(word string) bool {
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
