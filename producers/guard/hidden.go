package guard

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortestBase64 is from how many characters on a run is taken for base64.
const shortestBase64 = 16

// hidden returns what a text says in base64, percent encoding and tag
// characters, one level deep, with a line for each. It is less than twice as long as
// the text: percent encoding is undone in all of it, and base64 gives three bytes for
// four. tags says that tag characters spelled a text.
func hidden(s string) (text string, tags bool) {
	var b strings.Builder
	base64Texts(s, &b)
	percentText(s, &b)
	tags = tagText(s, &b)
	return b.String(), tags
}

func base64Texts(s string, b *strings.Builder) {
	for i := 0; i < len(s); i++ {
		from := i
		for i < len(s) && base64Char(s[i]) {
			i++
		}
		if i-from < shortestBase64 {
			continue
		}
		run := s[from:i]
		if len(run)%4 == 1 {
			run = run[:len(run)-1]
		}
		enc := base64.RawStdEncoding
		if strings.ContainsAny(run, "-_") {
			enc = base64.RawURLEncoding
		}
		if out, err := enc.DecodeString(run); err == nil && readable(string(out)) {
			b.WriteString(string(out))
			b.WriteByte('\n')
		}
	}
}

func base64Char(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_'
}

// readable reports whether bytes are a text rather than anything else.
func readable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	letters, all := 0, 0
	for _, r := range s {
		all++
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return letters*10 >= all*6
}

func percentText(s string, b *strings.Builder) {
	if strings.Count(s, "%") < 2 {
		return
	}
	out := make([]byte, 0, len(s))
	found := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo)) //nolint:gosec // Two hex digits.
				i += 2
				found++
				continue
			}
		}
		c := s[i]
		if c == '+' {
			c = ' '
		}
		out = append(out, c)
	}
	if found >= 2 && utf8.Valid(out) {
		b.Write(out)
		b.WriteByte('\n')
	}
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// tagText reads tag characters as the ASCII that they stand for. The few that
// are in the emoji of a flag are left alone.
func tagText(s string, b *strings.Builder) bool {
	if !strings.Contains(s, "\xf3\xa0") {
		return false
	}
	var out []byte
	found := false
	end := func() {
		if len(out) > 8 {
			found = true
			b.Write(out)
			b.WriteByte('\n')
		}
		out = out[:0]
	}
	for _, r := range s {
		if 0xE0020 <= r && r <= 0xE007E {
			out = append(out, byte(r-0xE0000))
			continue
		}
		end()
	}
	end()
	return found
}
