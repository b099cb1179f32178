package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type captureCmd struct {
	Subject    string   `arg:"" help:"Whom or what it is about."`
	Text       string   `arg:"" help:"What happened."`
	OccurredAt string   `help:"When, RFC 3339 with an offset."`
	Session    string   `help:"Session."`
	Actor      []string `help:"Who took part, as id or id=role."`
	Category   string   `help:"Consent category."`
	SourceKind string   `help:"Kind of the source record." default:"cli"`
	SourceRef  string   `help:"Where the source record is." default:"-"`
	Revision   string   `help:"Which revision of the source it was taken from."`
	Entity     []string `help:"Entities named."`
	Trace      []string `help:"Recalls that the text may have been written from, by id."`
	Key        string   `help:"Idempotency key."`
}

// Run captures one episode.
func (k captureCmd) Run(ctx context.Context, c *cli, t terminal) error {
	source := map[string]any{"kind": k.SourceKind, "ref": k.SourceRef}
	put(source, "revision", k.Revision)
	body := map[string]any{"subject": k.Subject, "text": k.Text, "source": source}
	put(body, "occurred_at", k.OccurredAt)
	put(body, "session", k.Session)
	put(body, "category", k.Category)
	if len(k.Entity) > 0 {
		body["entities"] = k.Entity
	}
	if len(k.Trace) > 0 {
		body["traces"] = k.Trace
	}
	if actors := parseActors(k.Actor); len(actors) > 0 {
		body["actors"] = actors
	}
	return c.with(ctx, t, func(s *session) error {
		var out struct {
			ID       string `json:"id"`
			Position uint64 `json:"position"`
			Status   string `json:"status"`
		}
		err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/episodes", Key: k.Key, Body: body, Out: &out})
		if err != nil {
			return fmt.Errorf("capture: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		return say(t, "%s %s at %d\n", out.Status, out.ID, out.Position)
	})
}

func put(body map[string]any, name, value string) {
	if value != "" {
		body[name] = value
	}
}
