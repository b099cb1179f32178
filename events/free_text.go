package events

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// FreeText is everything in an episode that somebody could have written freely,
// line by line: what a guardrail looks at.
func (c EpisodeContent) FreeText() string {
	parts := []string{c.Text, c.Action, c.Outcome}
	for _, k := range slices.Sorted(maps.Keys(c.Metadata)) {
		parts = append(parts, k, plainText(c.Metadata[k]))
	}
	return strings.Join(parts, "\n")
}

// FreeText is the same of a fact: its predicate and its value, the names of members
// too.
func (c FactContent) FreeText() string { return c.Predicate + "\n" + plainText(c.Value) }

// Names are all other strings of an episode that its caller gave and a reader is
// told, line by line. They are what things are called, so that a number in them is
// no personal data of itself; but somebody could have written an instruction there
// too.
func (c EpisodeContent) Names() string {
	parts := []string{c.Subject, c.Session, c.Category}
	for _, a := range c.Actors {
		parts = append(parts, a.ID, a.Role)
	}
	parts = append(parts, c.Source.names()...)
	return strings.Join(append(parts, c.Entities...), "\n")
}

// Names are the same of a fact.
func (c FactContent) Names() string {
	parts := []string{c.Subject, c.Category, c.Scope}
	for _, s := range c.Provenance {
		parts = append(parts, s.names()...)
	}
	return strings.Join(parts, "\n")
}

func (s Source) names() []string { return []string{s.Kind, s.Ref, s.Revision} }

// plainText is what stands in a JSON value, without what JSON needs around it, so
// that no escape hides anything. What follows an error is left out.
func plainText(v jsontext.Value) string {
	var b strings.Builder
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return b.String() // it was checked when it came in: this is its end
		}
		switch tok.Kind() {
		case '"', '0':
			b.WriteString(tok.String())
			b.WriteByte('\n')
		default:
		}
	}
}
