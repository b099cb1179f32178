package producers

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// scanFact is what the guardrail finds in what a fact says: its predicate and its
// value.
func (g *Gateway) scanFact(c events.FactContent) events.Guard {
	if g.scanner == nil {
		return events.Guard{}
	}
	return g.scanner.Scan(c.Predicate + "\n" + plainText(c.Value))
}

// scanEpisode is what the guardrail finds in all free text of an episode.
func (g *Gateway) scanEpisode(r CaptureRequest) events.Guard {
	if g.scanner == nil {
		return events.Guard{}
	}
	parts := []string{r.Text, r.Action, r.Outcome}
	for _, k := range slices.Sorted(maps.Keys(r.Metadata)) {
		parts = append(parts, k, plainText(r.Metadata[k]))
	}
	return g.scanner.Scan(strings.Join(parts, "\n"))
}

// plainText is what stands in a JSON value, without what JSON needs around it, so
// that no escape hides anything.
func plainText(v jsontext.Value) string {
	var b strings.Builder
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return b.String() // it was checked: this is its end
		}
		switch tok.Kind() {
		case '"', '0':
			b.WriteString(tok.String())
			b.WriteByte('\n')
		default:
		}
	}
}
