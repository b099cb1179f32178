package events

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// SearchText is what an episode is found by, for words and for vectors alike:
// who took part, then the text, the action and the outcome, each on a line of
// its own. It starts with the actors' ids and a colon, so that a question that
// names a person finds what that person said.
func (c EpisodeContent) SearchText() string {
	var b strings.Builder
	for i, a := range c.Actors {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.ID)
	}
	if len(c.Actors) > 0 {
		b.WriteString(": ")
	}
	b.WriteString(c.Text)
	for _, part := range []string{c.Action, c.Outcome} {
		if part != "" {
			b.WriteString("\n")
			b.WriteString(part)
		}
	}
	return b.String()
}

// SearchText is what a fact is found by: the predicate as words, and the
// strings, numbers and booleans in its value, in their order. Names of members
// of an object are structure and are left out; a value that is no JSON adds
// nothing.
func (c FactContent) SearchText() string {
	parts := []string{strings.NewReplacer("_", " ", "-", " ").Replace(c.Predicate)}
	d := jsontext.NewDecoder(bytes.NewReader(c.Value))
	for {
		kind, length := d.StackIndex(d.StackDepth())
		tok, err := d.ReadToken()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return parts[0]
			}
			return strings.Join(parts, " ")
		}
		isName := kind == '{' && length%2 == 0
		switch tok.Kind() {
		case '"', '0', 't', 'f':
			if s := tok.String(); !isName && s != "" {
				parts = append(parts, s)
			}
		default:
		}
	}
}
