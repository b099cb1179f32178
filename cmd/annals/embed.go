package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type embedCmd struct {
	Show   embedShowCmd   `cmd:"" help:"Show which model serves, which was chosen, and how far a change is."`
	Switch embedSwitchCmd `cmd:"" help:"Change to another model; the one before serves until all is embedded and the next generation is there."`
}

type embedShowCmd struct{}

type embedSwitchCmd struct {
	Model    string `arg:"" optional:"" help:"Model to change to."`
	Rollback bool   `help:"Change back to the model that served before."`
	NoWait   bool   `help:"Do not wait for the switch."`
}

type embedding struct {
	Serving   string   `json:"serving"`
	Chosen    string   `json:"chosen"`
	Previous  string   `json:"previous,omitempty"`
	Questions bool     `json:"questions"`
	Models    []string `json:"models"`
	Change    *struct {
		Phase    string `json:"phase"`
		Position uint64 `json:"position"`
		Target   uint64 `json:"target"`
	} `json:"change,omitempty"`
}

// line is where the change is.
func (e *embedding) line() string {
	switch {
	case e.Change == nil:
		return "serves " + e.Serving
	case e.Change.Target == 0:
		return fmt.Sprintf("serves %s, changes to %s: %s", e.Serving, e.Chosen, e.Change.Phase)
	}
	return fmt.Sprintf("serves %s, changes to %s: %s %d of %d", e.Serving, e.Chosen, e.Change.Phase, e.Change.Position, e.Change.Target)
}

func (e *embedding) fetch(ctx context.Context, s *session) error {
	if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/embedding", Out: e}); err != nil {
		return fmt.Errorf("embedding: %w", err)
	}
	return nil
}

// Run shows the model.
func (embedShowCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var e embedding
		if err := e.fetch(ctx, s); err != nil {
			return err
		}
		if c.JSON {
			return printJSON(t, e)
		}
		if err := say(t, "%s\nmodels: %s\n", e.line(), strings.Join(e.Models, ", ")); err != nil || e.Previous == "" {
			return err
		}
		return say(t, "before: %s\n", e.Previous)
	})
}

// Run changes the model of a running server.
func (k embedSwitchCmd) Run(ctx context.Context, c *cli, t terminal) error {
	if (k.Model == "") != k.Rollback {
		return fmt.Errorf("%w: either a model or --rollback", errMisuse)
	}
	return c.reading(ctx, t, func(s *session) error {
		var e embedding
		body := map[string]any{}
		put(body, "model", k.Model)
		if k.Rollback {
			body["rollback"] = true
		}
		if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/embedding", Body: body, Out: &e}); err != nil {
			return fmt.Errorf("embedding: %w", err)
		}
		if !k.NoWait {
			if err := e.await(ctx, s, newBar(t, c.JSON, "embed")); err != nil {
				return err
			}
		}
		if c.JSON {
			return printJSON(t, e)
		}
		return say(t, "%s\n", e.line())
	})
}

// await returns when nothing changes any more.
func (e *embedding) await(ctx context.Context, s *session, b *bar) error {
	defer b.finish()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for e.Change != nil {
		if e.Change.Phase == "failed" {
			return fmt.Errorf("the next generation of the memories came to something else than what serves, which stays: verify the memories")
		}
		b.set(e.Change.Phase, int(e.Change.Position), int(e.Change.Target)) //nolint:gosec // A position fits an int for ever.
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the switch: %w", ctx.Err())
		case <-tick.C:
		}
		*e = embedding{}
		if err := e.fetch(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// sayChange prints how far a change of the model is, if there is one.
func sayChange(ctx context.Context, s *session, t terminal) error {
	var e embedding
	if err := e.fetch(ctx, s); err != nil || e.Change == nil {
		return err
	}
	return say(t, "%-9s %s\n", "embedding", e.line())
}
