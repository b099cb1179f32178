package producers

import "github.com/annals-memory/annals/events"

// told is what a reader is told of an episode or a fact: what was written freely,
// and what things are called.
type told interface {
	FreeText() string
	Names() string
}

// scan is what the guardrail finds in all that a reader is told: instructions and
// credentials wherever they are, personal data in what was written freely. A name is
// personal data as often as not, and half of all long numbers could be one.
func (g *Gateway) scan(c told) events.Guard {
	if g.scanner == nil {
		return events.Guard{}
	}
	text := c.FreeText()
	found := g.scanner.Scan(text + "\n" + c.Names())
	if len(found.Personal) > 0 {
		found.Personal = g.scanner.Scan(text).Personal
	}
	return found
}

// content is what of a request is sealed.
func (r CaptureRequest) content() events.EpisodeContent {
	return events.EpisodeContent{
		Subject: r.Subject, Text: r.Text, Session: r.Session, Actors: r.Actors, Action: r.Action,
		Outcome: r.Outcome, Source: r.Source, Category: r.Category, Entities: r.Entities, Metadata: r.Metadata,
	}
}
