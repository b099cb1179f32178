package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type recallCmd struct {
	Query   string   `arg:"" help:"What is looked for."`
	Subject string   `help:"About whom; without it, the whole tenant."`
	Session string   `help:"Only this session."`
	Kind    []string `help:"episode, fact, trajectory."`
	AsOf    string   `help:"True at this time, RFC 3339 with an offset."`
	KnownAt string   `help:"Known at this time, RFC 3339 with an offset."`
	Filter  string   `help:"Only what passes, as JSON, such as {\"year\": {\"$gte\": 2025}}."`
	History bool     `help:"Rank what holds no more by its score, too."`
	K       int      `help:"How many at most." short:"k" default:"10"`
	Budget  int      `help:"Token budget of the answer."`
	Explain bool     `help:"Show the terms of every score."`
	WaitFor uint64   `help:"Position to wait for."`
}

type recalled struct {
	TraceID         string         `json:"trace_id"`
	Position        uint64         `json:"position"`
	Results         []recallResult `json:"results"`
	Omitted         int            `json:"omitted"`
	NothingRelevant bool           `json:"nothing_relevant"`
}

type recallResult struct {
	Kind       string             `json:"kind"`
	ID         string             `json:"id"`
	Text       string             `json:"text"`
	Score      float64            `json:"score"`
	Components map[string]float64 `json:"components,omitempty"`
	OccurredAt string             `json:"occurred_at,omitempty"`
	ObservedAt string             `json:"observed_at,omitempty"`
	Trust      string             `json:"trust"`
	Sources    []string           `json:"sources"`
	// Status says that it holds no more, SupersededBy what does instead.
	Status       string        `json:"status,omitempty"`
	SupersededBy []replacement `json:"superseded_by,omitempty"`
	DemotedFrom  *float64      `json:"demoted_from,omitempty"`
}

type replacement struct {
	Fact  string         `json:"fact"`
	Text  string         `json:"text"`
	Value jsontext.Value `json:"value"`
	Since string         `json:"since"`
	Trust string         `json:"trust"`
}

func (k recallCmd) body() (map[string]any, error) {
	body := map[string]any{"query": k.Query, "k": k.K, "explain": k.Explain}
	put(body, "subject", k.Subject)
	put(body, "session", k.Session)
	put(body, "as_of", k.AsOf)
	put(body, "known_at", k.KnownAt)
	if len(k.Kind) > 0 {
		body["kinds"] = k.Kind
	}
	if k.History {
		body["include"] = "history"
	}
	if k.Budget > 0 {
		body["token_budget"] = k.Budget
	}
	if k.WaitFor > 0 {
		body["wait_for"] = k.WaitFor
	}
	if k.Filter != "" {
		filter := jsontext.Value(k.Filter)
		if !filter.IsValid() {
			return nil, fmt.Errorf("%w: --filter is not JSON", errMisuse)
		}
		body["filter"] = filter
	}
	return body, nil
}

// Run recalls memories.
func (k recallCmd) Run(ctx context.Context, c *cli, t terminal) error {
	body, err := k.body()
	if err != nil {
		return err
	}
	return c.reading(ctx, t, func(s *session) error {
		var out recalled
		if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/recall", Body: body, Out: &out}); err != nil {
			return fmt.Errorf("recall: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		return printRecalled(t, out)
	})
}

func printRecalled(t terminal, out recalled) error {
	if len(out.Results) == 0 {
		return say(t, "nothing relevant\n")
	}
	for _, r := range out.Results {
		at := r.OccurredAt
		if at == "" {
			at = r.ObservedAt
		}
		if err := say(t, "%.3f  %-7s %s  %s  (%s)\n", r.Score, r.Kind, day(at), r.Text, r.Trust); err != nil {
			return err
		}
		if err := printEnded(t, r); err != nil {
			return err
		}
		if len(r.Components) == 0 {
			continue
		}
		var terms []string
		for _, name := range []string{"relevance", "freshness", "reliability", "dense", "lexical", "context"} {
			if v, ok := r.Components[name]; ok {
				terms = append(terms, fmt.Sprintf("%s %.2f", name, v))
			}
		}
		if r.DemotedFrom != nil {
			terms = append(terms, fmt.Sprintf("demoted from %.3f", *r.DemotedFrom))
		}
		if err := say(t, "       %s\n", strings.Join(terms, ", ")); err != nil {
			return err
		}
	}
	return nil
}

// printEnded says that a result holds no more, and what does.
func printEnded(t terminal, r recallResult) error {
	if r.Status == "" {
		return nil
	}
	if len(r.SupersededBy) == 0 {
		return say(t, "       %s\n", r.Status)
	}
	for _, by := range r.SupersededBy {
		if err := say(t, "       %s by %s, since %s  (%s)\n", r.Status, by.Text, day(by.Since), by.Trust); err != nil {
			return err
		}
	}
	return nil
}

// day is the date of an RFC 3339 time.
func day(s string) string {
	d, _, _ := strings.Cut(s, "T")
	return d
}
