package guard

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// The length of things in a text is counted in units: a word has two, a
// character of a script without spaces one. The end of a sentence counts as
// three words, so that a rule seldom reaches across it, and that of a line as
// one.
const (
	wordUnits     = 2
	sentenceUnits = 3 * wordUnits
	lineUnits     = wordUnits
	// spelled is how many single letters in a row are a word spelled out.
	spelled = 5
	// longWord is from which length on a word of ASCII is looked into, in case
	// its spaces were left out.
	longWord = 21
)

// token is a place of the words where an entry may begin. Places and units are
// int32: a text is far below 2 GiB / 6.
type token struct {
	at   int32
	unit int32
	// first says that a sentence begins here.
	first bool
	// joined says that words may end anywhere here: they are written without
	// spaces.
	joined bool
	// address says that the word is the beginning of an e-mail address.
	address bool
}

// words is a text as words with single spaces between them.
type words struct {
	text   []byte
	tokens []token
	// folded says that a word is another one for having been folded.
	folded bool
}

// cuttings are the words of a text before they are joined.
type cuttings struct {
	list []word
	buf  []byte
	// foldable says that a word has letters and what looks like one.
	foldable bool
}

// word is a stretch of the text before words are joined.
type word struct {
	from, to int32
	runes    int32
	// gap is how many units lie before it.
	gap      int32
	first    bool
	unspaced bool
	// foldable says that the word has letters and what looks like one.
	foldable bool
}

// join makes words, with lookalikes folded if fold is set.
func (c *cuttings) join(fold bool) words {
	list, buf := c.list, c.buf
	out := words{text: make([]byte, 0, len(buf)+len(list)), tokens: make([]token, 0, len(list)+8)}
	unit := int32(0)
	for i := 0; i < len(list); {
		w := list[i]
		n := 1
		if w.runes == 1 && !w.unspaced {
			for i+n < len(list) && list[i+n].runes == 1 && !list[i+n].unspaced {
				n++
			}
			if n < spelled {
				n = 1
			}
		}
		unit += w.gap
		if len(out.text) > 0 && (!w.unspaced || !list[i-1].unspaced || w.gap > 0) {
			out.text = append(out.text, ' ')
		}
		from := len(out.text)
		for _, part := range list[i : i+n] {
			out.text = append(out.text, buf[part.from:part.to]...)
		}
		if fold && (n > 1 || w.foldable) {
			var changed bool
			out.text, changed = foldWord(out.text, from)
			out.folded = out.folded || changed
		}
		length := len(out.text) - from
		joined := n > 1 || w.runes >= longWord && w.runes == w.to-w.from
		out.tokens = append(out.tokens, token{
			at: int32(from), unit: unit, first: w.first, joined: joined, //nolint:gosec // See token.
			address: bytes.IndexByte(out.text[from:], '@') > 0,
		})
		switch {
		case w.unspaced:
			unit++
		case joined:
			for k := 1; k < length; k++ {
				if k%2 == 0 {
					unit++
				}
				out.tokens = append(out.tokens, token{at: int32(from + k), unit: unit, joined: true}) //nolint:gosec // See token.
			}
			unit += wordUnits
		default:
			unit += wordUnits
		}
		i += n
	}
	return out
}

// cut finds the words of a plain text.
func cut(s string) cuttings {
	list := make([]word, 0, len(s)/5+8)
	buf := make([]byte, 0, len(s))
	foldable := false
	open := int32(-1)
	var runes, gap int32
	letters, strange, line := false, false, false
	first := true
	end := func() {
		if open < 0 {
			return
		}
		mixed := letters && strange
		list = append(list, word{from: open, to: int32(len(buf)), runes: runes, first: first, gap: gap, foldable: mixed}) //nolint:gosec // See token.
		foldable = foldable || mixed
		open, runes, gap, first, letters, strange, line = -1, 0, 0, false, false, false, false
	}
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z':
			if open < 0 {
				open = int32(len(buf)) //nolint:gosec // See token.
			}
			buf = append(buf, byte(r))
			runes++
			letters = true
		case r == '\'', r == '’', r == 'ʼ':
			// Left out: don't, l'utente.
		case unspaced(r):
			end()
			from := int32(len(buf)) //nolint:gosec // See token.
			buf = utf8.AppendRune(buf, r)
			list = append(list, word{from: from, to: int32(len(buf)), runes: 1, first: first, unspaced: true, gap: gap}) //nolint:gosec // See token.
			gap, first = 0, false
		case isWord(r):
			if open < 0 {
				open = int32(len(buf)) //nolint:gosec // See token.
			}
			buf = utf8.AppendRune(buf, r)
			runes++
			switch {
			case digitLetter(r) != 0:
				strange = true
			case r >= utf8.RuneSelf && lookalike(r) != 0:
				letters, strange = true, true
			}
		default:
			end()
			switch {
			case ender(r), r == '\n' && line:
				gap, first = sentenceUnits, true
			case r == '\n':
				gap, first = max(gap, lineUnits), true
			}
			line = r == '\n' || line && (r == ' ' || r == '\r' || r == '\t')
			if r == '"' || r == '*' || r == '#' || r == '|' || r == '-' || r == '(' || r == '[' || r == '>' || r == '“' || r == '«' || r == '「' {
				first = true
			}
		}
	}
	end()
	return cuttings{list, buf, foldable}
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '@' || r == '$'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

func ender(r rune) bool {
	switch r {
	case '.', '!', '?', ':', ';', '。', '！', '？', '；', '：', '।', '؟', '…':
		return true
	}
	return false
}

// foldWord replaces what looks like a letter in the word from on, if that makes
// it Latin altogether, and says whether it did.
func foldWord(text []byte, from int) (folded []byte, changed bool) {
	w := text[from:]
	letters, strange := 0, 0
	for i := 0; i < len(w); {
		r, n := utf8.DecodeRune(w[i:])
		switch {
		case 'a' <= r && r <= 'z':
			letters++
		case digitLetter(r) != 0:
			strange++
		case lookalike(r) != 0:
			letters++
			strange++
		default:
			return text, false
		}
		i += n
	}
	if letters == 0 || strange == 0 {
		return text, false
	}
	to := from
	for i := from; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		b := byte(r) //nolint:gosec // A lower-case ASCII letter, unless replaced below.
		if d := digitLetter(r); d != 0 {
			b = d
		} else if l := lookalike(r); l != 0 {
			b = l
		}
		text[to] = b
		to++
		i += n
	}
	return text[:to], true
}
