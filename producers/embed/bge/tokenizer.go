package bge

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxRunes is how many characters of a text are read.
	maxRunes = 32_768
	// maxWord is the longest word, in characters, that is cut into pieces; a longer one is unknown.
	maxWord = 100
	// continued precedes the pieces of the vocabulary that do not begin a word.
	continued = "##"
)

// tokenizer cuts text into the words of a vocabulary, and words that it does not have into the longest pieces of which
// it has each. Case and accents make no difference. It gives the ids of the reference implementation, but for the names
// of special tokens, which are words like any other in a text. It is read-only once made.
type tokenizer struct {
	starts    map[string]int32
	continues map[string]int32 // Without the mark.
	longest   int              // Of the pieces, in bytes.

	unknown, open, close int32
}

func newTokenizer(words []string) (*tokenizer, error) {
	t := &tokenizer{starts: make(map[string]int32, len(words)), continues: make(map[string]int32, len(words)/4)}

	for id, word := range words {
		if piece, ok := strings.CutPrefix(word, continued); ok && piece != "" {
			t.continues[piece] = int32(id)
		}

		// A word may begin with the mark of a piece: it is not one then.
		t.starts[word] = int32(id)
		t.longest = max(t.longest, len(word))
	}

	for name, id := range map[string]*int32{"[UNK]": &t.unknown, "[CLS]": &t.open, "[SEP]": &t.close} {
		found, ok := t.starts[name]
		if !ok {
			return nil, fmt.Errorf("%w: a special token is missing", ErrWeights)
		}

		*id = found
	}

	return t, nil
}

// encode returns the ids of a text, nil if not a single one is known. It stops when it has what the windows hold.
func (t *tokenizer) encode(text string) []int32 {
	const most = maxWindows * (maxTokens - 2)

	var (
		ids   []int32
		word  []byte
		runes int
		known bool
	)

	finish := func() {
		if len(word) > 0 {
			ids = t.cut(ids, string(word), runes)
			word, runes = word[:0], 0
		}
	}

	for r := range decomposed(prefix(text, maxRunes)) {
		switch {
		case dropped(r):
		case unicode.IsSpace(r):
			finish()
		case alone(r):
			finish()

			word, runes = utf8.AppendRune(word, lower(r)), 1
			finish()
		default:
			word = utf8.AppendRune(word, lower(r))
			runes++
		}

		if len(ids) >= most {
			break
		}
	}

	finish()

	ids = ids[:min(len(ids), most)]
	for _, id := range ids {
		known = known || id != t.unknown
	}

	if !known {
		return nil
	}

	return ids
}

// cut appends the pieces of a word, or the unknown one.
func (t *tokenizer) cut(ids []int32, word string, runes int) []int32 {
	if runes > maxWord {
		return append(ids, t.unknown)
	}

	pieces, before := t.starts, len(ids)

	for len(word) > 0 {
		n := min(len(word), t.longest)
		id, ok := pieces[word[:n]]

		for !ok && n > 1 {
			n--
			id, ok = pieces[word[:n]]
		}

		if !ok {
			return append(ids[:before], t.unknown)
		}

		ids = append(ids, id)
		word, pieces = word[n:], t.continues
	}

	return ids
}

// prefix is what is read of a text: its first n characters.
func prefix(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}

		n--
	}

	return text
}

// decomposed yields the characters of a text with those that carry accents taken apart. What is no UTF-8 is one
// replacement character a byte.
func decomposed(text string) func(yield func(rune) bool) {
	return func(yield func(rune) bool) {
		var it norm.Iter

		it.InitString(norm.NFD, text)

		for !it.Done() {
			for _, r := range string(it.Next()) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// dropped says whether a character is no part of any word: controls but for white space, marks over letters, and what
// stands for something unreadable.
func dropped(r rune) bool {
	switch r {
	case '\t', '\n', '\r':
		return false
	case utf8.RuneError:
		return true
	}

	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Mn)
}

// alone says whether a character is a word by itself: punctuation, and ideographs.
func alone(r rune) bool {
	if r < utf8.RuneSelf {
		return r > ' ' && r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z'
	}

	return unicode.IsPunct(r) || ideograph(r)
}

func ideograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0xF900 && r <= 0xFAFF ||
		r >= 0x20000 && r <= 0x2A6DF || r >= 0x2A700 && r <= 0x2B73F || r >= 0x2B740 && r <= 0x2B81F ||
		r >= 0x2B920 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}

func lower(r rune) rune { return unicode.ToLower(r) }
