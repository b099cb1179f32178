package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type sourceCmd struct {
	Revise sourceReviseCmd `cmd:"" help:"Make a revision of a source the current one: what was taken from the others is retired."`
	Show   sourceShowCmd   `cmd:"" help:"Show the revisions of a source."`
}

type sourceReviseCmd struct {
	Kind        string `arg:"" help:"Kind of the source."`
	Ref         string `arg:"" help:"Where the source is."`
	Revision    string `arg:"" help:"The revision that is current from now on."`
	EffectiveAt string `help:"Since when it holds, RFC 3339 with an offset; without it, since now."`
	Key         string `help:"Idempotency key."`
}

// Run makes a revision the current one.
func (k sourceReviseCmd) Run(ctx context.Context, c *cli, t terminal) error {
	body := map[string]any{"source": map[string]any{"kind": k.Kind, "ref": k.Ref}, "revision": k.Revision}
	put(body, "effective_at", k.EffectiveAt)
	return c.with(ctx, t, func(s *session) error {
		var out struct {
			Position uint64 `json:"position"`
		}
		err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/sources/revisions", Key: k.Key, Body: body, Out: &out})
		if err != nil {
			return fmt.Errorf("revise source: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		return say(t, "current at %d\n", out.Position)
	})
}

type sourceShowCmd struct {
	Kind     string   `arg:"" help:"Kind of the source."`
	Ref      string   `arg:"" help:"Where the source is."`
	Revision []string `help:"Names of revisions to be told apart: the memory keeps none."`
	WaitFor  uint64   `help:"Position to wait for."`
}

type sourceRevisions struct {
	Revisions []struct {
		Revision    string `json:"revision,omitempty"`
		Token       string `json:"token"`
		EffectiveAt string `json:"effective_at"`
		RecordedAt  string `json:"recorded_at"`
		Recorded    uint64 `json:"recorded_position"`
		Current     bool   `json:"current"`
	} `json:"revisions"`
	Position uint64 `json:"position"`
}

// Run shows the revisions of a source, the last one of which is current.
func (k sourceShowCmd) Run(ctx context.Context, c *cli, t terminal) error {
	q := url.Values{"kind": {k.Kind}, "ref": {k.Ref}}
	if len(k.Revision) > 0 {
		q["revision"] = k.Revision
	}
	if k.WaitFor > 0 {
		q.Set("wait_for", strconv.FormatUint(k.WaitFor, 10))
	}
	return c.reading(ctx, t, func(s *session) error {
		var out sourceRevisions
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/sources?" + q.Encode(), Out: &out}); err != nil {
			return fmt.Errorf("source: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		for _, r := range out.Revisions {
			name, state := r.Revision, "retired"
			if name == "" {
				name = r.Token
			}
			if r.Current {
				state = "current"
			}
			if err := say(t, "%-8s  %s  since %s, at %d\n", state, name, r.EffectiveAt, r.Recorded); err != nil {
				return err
			}
		}
		return nil
	})
}
