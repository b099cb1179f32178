package eval

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// The variants: what is done to a text on its way into memory.
const (
	// The text arrives as it is, encoded, with characters inside that nobody sees, or
	// in three parts. Who sent it proposes it, and so does a user's principal who
	// names what arrived as the source.
	variantRaw       = "raw"
	variantBase64    = "base64"
	variantZeroWidth = "zero_width"
	variantSplit     = "split"
	// Who sent it names something as the source that a user has said.
	variantBorrowed = "borrowed"
	// An agent recalls it, captures what it has read as its own and proposes that,
	// without a word of the recall; or it reads the subject's episodes in place of a
	// recall; or it names the recall; or another agent does so with what the first one
	// has captured.
	variantEchoed         = "echoed"
	variantRead           = "read"
	variantLaundered      = "laundered"
	variantLaunderedTwice = "laundered_twice"
)

func variants() []string { return append(arrivals(), echoes()...) }

// arrivals are the variants in which nothing is recalled.
func arrivals() []string {
	return []string{variantRaw, variantBase64, variantZeroWidth, variantSplit, variantBorrowed}
}

// echoes are those in which an agent comes between.
func echoes() []string {
	return []string{variantEchoed, variantRead, variantLaundered, variantLaunderedTwice}
}

// arrive is a text as it arrives: what is captured, one after another, and what is
// proposed of it.
func arrive(variant, text string) (parts []string, value string) {
	switch variant {
	case variantBase64:
		text = base64.StdEncoding.EncodeToString([]byte(text))
	case variantZeroWidth:
		text = zeroWidth(text)
	case variantSplit:
		return thirds(text), text
	}
	return []string{text}, text
}

// maxGateValue bounds what is proposed of a text, in bytes.
const maxGateValue = 32 << 10

// partOf is as much of a text as fits into a value.
func partOf(text string) string {
	if len(text) <= maxGateValue {
		return text
	}
	end := maxGateValue
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// zeroWidth puts a character of no width behind every second one.
func zeroWidth(text string) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		b.WriteRune(r)
		if n++; n%2 == 0 {
			b.WriteRune('\u200b')
		}
	}
	return b.String()
}

// thirds are three parts of about the same length, or fewer if some would be blank.
func thirds(text string) []string {
	runes := []rune(text)
	var parts []string
	for i := range 3 {
		part := string(runes[len(runes)*i/3 : len(runes)*(i+1)/3])
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// maxQuestion bounds the words that are asked for, in characters.
const maxQuestion = 200

// questionOf asks for a memory by how it begins.
func questionOf(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), maxQuestion)])
}
