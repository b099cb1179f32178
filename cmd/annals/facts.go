package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type factsCmd struct {
	Subject   string `arg:"" help:"Whom or what they are about."`
	Predicate string `help:"Only this predicate."`
	Scope     string `help:"Only this scope."`
	Category  string `help:"Only this category."`
	AsOf      string `help:"True at this time, RFC 3339 with an offset."`
	KnownAt   string `help:"Known at this time, RFC 3339 with an offset."`
	History   bool   `help:"All versions."`
	WaitFor   uint64 `help:"Position to wait for."`
}

type factList struct {
	Facts    []fact `json:"facts"`
	Cursor   string `json:"cursor,omitempty"`
	Position uint64 `json:"position"`
}

type fact struct {
	ID         string         `json:"id"`
	Predicate  string         `json:"predicate"`
	Scope      string         `json:"scope,omitempty"`
	Value      jsontext.Value `json:"value"`
	Status     string         `json:"status"`
	ValidFrom  string         `json:"valid_from"`
	ValidTo    *string        `json:"valid_to"`
	ObservedAt string         `json:"observed_at"`
	RecordedAt string         `json:"recorded_at"`
}

func (k factsCmd) query() url.Values {
	q := url.Values{"subject": {k.Subject}}
	setIf(q, "predicate", k.Predicate)
	setIf(q, "scope", k.Scope)
	setIf(q, "category", k.Category)
	setIf(q, "as_of", k.AsOf)
	setIf(q, "known_at", k.KnownAt)
	if k.History {
		q.Set("include", "history")
	}
	if k.WaitFor > 0 {
		q.Set("wait_for", strconv.FormatUint(k.WaitFor, 10))
	}
	return q
}

// Run prints facts, all pages of them.
func (k factsCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		q := k.query()
		for {
			var raw jsontext.Value
			var out factList
			if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/facts?" + q.Encode(), Out: &raw}); err != nil {
				return fmt.Errorf("facts: %w", err)
			}
			if err := decodeInto(raw, &out); err != nil {
				return err
			}
			if c.JSON {
				if err := printJSON(t, raw); err != nil {
					return err
				}
			} else if err := printFacts(t, out.Facts); err != nil {
				return err
			}
			if out.Cursor == "" {
				return nil
			}
			q.Set("cursor", out.Cursor)
		}
	})
}

func printFacts(t terminal, list []fact) error {
	for _, f := range list {
		until := "open"
		if f.ValidTo != nil {
			until = day(*f.ValidTo)
		}
		name := f.Predicate
		if f.Scope != "" {
			name += " [" + f.Scope + "]"
		}
		if err := say(t, "%-10s  %s to %-10s  %s = %s\n", f.Status, day(f.ValidFrom), until, name, f.Value); err != nil {
			return err
		}
	}
	return nil
}
