package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type suppressionsCmd struct {
	List suppressionsListCmd `cmd:"" help:"List what is kept from coming back, newest first: by ids, times and numbers."`
	Lift suppressionsLiftCmd `cmd:"" help:"Let what was kept out in again."`
}

type suppressionsListCmd struct{}

// Run prints what is kept out, all pages of it. Nobody can print the values.
func (suppressionsListCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		q := url.Values{}
		for {
			var raw jsontext.Value
			var out struct {
				Suppressions []struct {
					ID       string `json:"id"`
					Since    string `json:"since"`
					Values   int    `json:"values"`
					Position uint64 `json:"position"`
				} `json:"suppressions"`
				Cursor string `json:"cursor"`
			}
			if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/suppressions?" + q.Encode(), Out: &raw}); err != nil {
				return fmt.Errorf("suppressions: %w", err)
			}
			if err := decodeInto(raw, &out); err != nil {
				return err
			}
			if c.JSON {
				if err := printJSON(t, raw); err != nil {
					return err
				}
			}
			for _, x := range out.Suppressions {
				if c.JSON {
					break
				}
				if err := say(t, "%s  %d values  since %s, at %d\n", x.ID, x.Values, x.Since, x.Position); err != nil {
					return err
				}
			}
			if out.Cursor == "" {
				return nil
			}
			q.Set("cursor", out.Cursor)
		}
	})
}

type suppressionsLiftCmd struct {
	ID string `arg:"" help:"The suppression, as listed."`
}

// Run lets what was kept out in again.
func (k suppressionsLiftCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out struct {
			Position uint64 `json:"position"`
		}
		if err := s.Do(ctx, client.Call{Method: http.MethodDelete, Path: "/v1/suppressions/" + pathSegment(k.ID), Out: &out}); err != nil {
			return fmt.Errorf("lift: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		return say(t, "lifted at %d\n", out.Position)
	})
}
