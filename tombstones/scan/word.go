package scan

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// MinWord is the least length of a word in bytes of UTF-8. Anything shorter
	// is met by chance.
	MinWord = 4
	// MaxWord is the largest length of a word in bytes of UTF-8.
	MaxWord = 4096
)

// spelling is a word in one normal form and one case.
type spelling struct{ text, name string }

// spellings are the ways to spell a word, the given one first.
func spellings(word string) []spelling {
	var out []spelling
	seen := make(map[string]struct{})
	for _, letters := range []struct {
		name string
		text string
	}{{"", word}, {", lower case", strings.ToLower(word)}, {", upper case", strings.ToUpper(word)}} {
		for _, form := range []spelling{
			{letters.text, letters.name},
			{norm.NFC.String(letters.text), ", NFC" + letters.name},
			{norm.NFD.String(letters.text), ", NFD" + letters.name},
		} {
			if _, ok := seen[form.text]; !ok {
				seen[form.text] = struct{}{}
				out = append(out, form)
			}
		}
	}
	return out
}

// addWord adds every form of a word.
func (p *patterns) addWord(index int, word string) error {
	switch {
	case len(word) > MaxWord:
		return &InputError{What: "word", Index: index, Why: fmt.Sprintf("is longer than %d bytes", MaxWord)}
	case !utf8.ValidString(word):
		return &InputError{What: "word", Index: index, Why: "is not UTF-8"}
	}
	all := spellings(word)
	for _, s := range all {
		if len(s.text) < MinWord {
			return &InputError{What: "word", Index: index, Why: fmt.Sprintf("is shorter than %d bytes", MinWord)}
		}
	}
	for _, s := range all {
		p.addSpelling(index, s)
	}
	return nil
}

func (p *patterns) addSpelling(index int, s spelling) {
	b := []byte(s.text)
	add := func(encoding string, b []byte) { p.add(index, encoding+s.name, b) }
	add("utf-8", b)
	add("hex", []byte(hex.EncodeToString(b)))
	add("hex, upper digits", []byte(strings.ToUpper(hex.EncodeToString(b))))
	for before := range 3 {
		add("base64 at "+strconv.Itoa(before), inner64(base64.StdEncoding, b, before))
		add("base64url at "+strconv.Itoa(before), inner64(base64.URLEncoding, b, before))
	}
	units := utf16.Encode([]rune(s.text))
	var le, be []byte
	for _, u := range units {
		le, be = binary.LittleEndian.AppendUint16(le, u), binary.BigEndian.AppendUint16(be, u)
	}
	add("utf-16le", le)
	add("utf-16be", be)
	for _, e := range jsonForms(s.text) {
		add("json escapes", []byte(e))
	}
	for _, e := range percentForms(s.text) {
		add("percent", []byte(e))
	}
}

// inner64 is the part of a word's base64 that does not depend on what stands
// beside it, when as many bytes as before, modulo 3, stand in front of it.
func inner64(e *base64.Encoding, b []byte, before int) []byte {
	padded := append(make([]byte, before, before+len(b)+2), b...)
	whole := e.EncodeToString(append(padded, 0, 0))
	return []byte(whole[(8*before+5)/6 : 8*(before+len(b))/6])
}

// jsonForms are the ways to write a word in a JSON string that are in use: with
// and without escapes of the solidus, of what is special in HTML, of what is not
// ASCII, and of everything.
func jsonForms(word string) []string {
	var out []string
	for _, slash := range []bool{false, true} {
		for _, html := range []bool{false, true} {
			for _, ascii := range []bool{false, true} {
				for _, digits := range []string{"%04x", "%04X"} {
					out = append(out, escapeJSON(word, digits, func(r rune) escape {
						switch {
						case r == '"', r == '\\', r < ' ', r == '/' && slash:
							return escapeShort
						case ascii && r >= utf8.RuneSelf, html && strings.ContainsRune("<>&\u2028\u2029", r):
							return escapeUnit
						}
						return escapeNone
					}))
				}
			}
		}
	}
	all := func(rune) escape { return escapeUnit }
	return append(out, escapeJSON(word, "%04x", all), escapeJSON(word, "%04X", all))
}

// escape says how a character is written.
type escape int

const (
	escapeNone  escape = iota
	escapeShort        // by a letter where there is one
	escapeUnit         // by its UTF-16 units
)

func escapeJSON(word, digits string, how func(rune) escape) string {
	var b strings.Builder
	for _, r := range word {
		h := how(r)
		if h == escapeNone {
			b.WriteRune(r)
			continue
		}
		if at := strings.IndexRune("\"\\/\b\f\n\r\t", r); h == escapeShort && at >= 0 {
			b.WriteByte('\\')
			b.WriteByte("\"\\/bfnrt"[at])
			continue
		}
		for _, u := range utf16.Encode([]rune{r}) {
			b.WriteString(`\u`)
			fmt.Fprintf(&b, digits, u)
		}
	}
	return b.String()
}

// percentForms are the ways to write a word in a URL that are in use: what may
// stand unescaped differs from one to the next.
func percentForms(word string) []string {
	const (
		component = "-_.!~*'()"
		address   = component + ";/?:@&=+$,#"
		printable = address + "\"%<>[\\]^`{|}"
	)
	query := url.QueryEscape(word)
	out := []string{
		query, strings.ReplaceAll(query, "+", "%20"), url.PathEscape(word), (&url.URL{Path: "/" + word}).EscapedPath()[1:],
		escapePercent(word, component), escapePercent(word, address), escapePercent(word, printable), everyPercent(word),
	}
	for _, s := range out {
		out = append(out, lowerDigits(s))
	}
	return out
}

// escapePercent escapes all but letters, digits and what is in bare.
func escapePercent(word, bare string) string {
	var b strings.Builder
	for i := range len(word) {
		switch c := word[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(bare, c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func everyPercent(word string) string {
	var b strings.Builder
	for i := range len(word) {
		fmt.Fprintf(&b, "%%%02X", word[i])
	}
	return b.String()
}

// lowerDigits writes the digits of every escape in lower case.
func lowerDigits(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(s[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}
