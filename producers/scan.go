package producers

import "github.com/annals-memory/annals/events"

// scanFact is what the guardrail finds in what a fact says: its predicate and its
// value.
func (g *Gateway) scanFact(c events.FactContent) events.Guard {
	if g.scanner == nil {
		return events.Guard{}
	}
	return g.scanner.Scan(c.FreeText())
}

// scanEpisode is what the guardrail finds in all free text of an episode.
func (g *Gateway) scanEpisode(r CaptureRequest) events.Guard {
	if g.scanner == nil {
		return events.Guard{}
	}
	return g.scanner.Scan(events.EpisodeContent{
		Text: r.Text, Action: r.Action, Outcome: r.Outcome, Metadata: r.Metadata,
	}.FreeText())
}
