package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

type holdCmd struct {
	Add    holdAddCmd    `cmd:"" help:"Put a legal hold on a subject: nothing of it is shown, and nothing destroyed."`
	Remove holdRemoveCmd `cmd:"" help:"Lift a legal hold; what was forgotten meanwhile is erased."`
	List   holdListCmd   `cmd:"" help:"Show the legal holds on a subject."`
}

type holdAddCmd struct {
	Subject string `arg:"" help:"Subject to hold."`
	Hold    string `arg:"" help:"Name of the hold, by which it is lifted."`
}

type holdRemoveCmd struct {
	Subject string `arg:"" help:"Subject that is held."`
	Hold    string `arg:"" help:"Name of the hold."`
}

type holdListCmd struct {
	Subject string `arg:"" help:"Subject to show the holds on."`
}

// Run puts a hold on.
func (k holdAddCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return changeHold(ctx, c, t, http.MethodPut, k.Subject, k.Hold)
}

// Run lifts a hold.
func (k holdRemoveCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return changeHold(ctx, c, t, http.MethodDelete, k.Subject, k.Hold)
}

func changeHold(ctx context.Context, c *cli, t terminal, method, subject, hold string) error {
	return c.reading(ctx, t, func(s *session) error {
		var out tombstones.Hold
		if err := s.Do(ctx, client.Call{Method: method, Path: subjectPath(subject, "/holds/"+pathSegment(hold)), Out: &out}); err != nil {
			return fmt.Errorf("hold: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		if out.Held {
			return say(t, "held, at %d\n", out.Position)
		}
		return say(t, "not held, at %d\n", out.Position)
	})
}

// Run shows holds. A name cannot be shown: it is kept in no form that could be read.
func (k holdListCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out tombstones.Holds
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: subjectPath(k.Subject, "/holds"), Out: &out}); err != nil {
			return fmt.Errorf("hold: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		for _, h := range out.Current {
			if err := say(t, "%s  since %s, at %d\n", h.Token, h.RecordedAt.Format(stampFormat), h.Position); err != nil {
				return err
			}
		}
		return say(t, "%d holds\n", len(out.Current))
	})
}

type consentCmd struct {
	Grant    consentGrantCmd    `cmd:"" help:"Write down that a subject agrees to a category being kept."`
	Withdraw consentWithdrawCmd `cmd:"" help:"Take a consent back; what was kept under it is forgotten."`
	List     consentListCmd     `cmd:"" help:"Show what a subject has agreed to and taken back."`
}

type consentGrantCmd struct {
	Subject  string `arg:"" help:"Subject that agrees."`
	Category string `arg:"" help:"Category."`
	Basis    string `help:"What the consent rests on."`
}

type consentWithdrawCmd struct {
	Subject  string `arg:"" help:"Subject that takes it back."`
	Category string `arg:"" help:"Category."`
}

type consentListCmd struct {
	Subject string `arg:"" help:"Subject to show the consents of."`
	History bool   `help:"Show every change, oldest first."`
}

type consented struct {
	Granted  bool     `json:"granted"`
	Position uint64   `json:"position"`
	Erasure  *erasure `json:"erasure,omitempty"`
}

// Run gives a consent.
func (k consentGrantCmd) Run(ctx context.Context, c *cli, t terminal) error {
	body := map[string]any{"granted": true}
	if k.Basis != "" {
		body["basis"] = k.Basis
	}
	return changeConsent(ctx, c, t, k.Subject, k.Category, body)
}

// Run takes a consent back.
func (k consentWithdrawCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return changeConsent(ctx, c, t, k.Subject, k.Category, map[string]any{"granted": false})
}

func changeConsent(ctx context.Context, c *cli, t terminal, subject, category string, body map[string]any) error {
	return c.reading(ctx, t, func(s *session) error {
		var out consented
		call := client.Call{Method: http.MethodPut, Path: subjectPath(subject, "/consents/"+pathSegment(category)), Body: body, Out: &out}
		if err := s.Do(ctx, call); err != nil {
			return fmt.Errorf("consent: %w", err)
		}
		switch {
		case c.JSON:
			return printJSON(t, out)
		case out.Granted:
			return say(t, "granted, at %d\n", out.Position)
		case out.Erasure == nil || out.Erasure.ErasureID == "":
			return say(t, "withdrawn; nothing was kept under it\n")
		}
		return say(t, "withdrawn; forgot %d, %s (erasure %s)\n", out.Erasure.Matched, out.Erasure.Level, out.Erasure.ErasureID)
	})
}

// Run shows consents.
func (k consentListCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out query.ConsentsAnswer
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: subjectPath(k.Subject, "/consents"), Out: &out}); err != nil {
			return fmt.Errorf("consent: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		list := out.Current
		if k.History {
			list = out.History
		}
		for _, x := range list {
			name, state, basis := x.Category, "withdrawn", ""
			if name == "" {
				name = x.Token
			}
			if x.Granted {
				state = "granted"
			}
			if x.Basis != "" {
				basis = "  " + x.Basis
			}
			if err := say(t, "%-9s  %s  %s%s\n", state, x.RecordedAt.Format(stampFormat), name, basis); err != nil {
				return err
			}
		}
		return nil
	})
}

func subjectPath(subject, rest string) string { return "/v1/subjects/" + pathSegment(subject) + rest }
