package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type proposeCmd struct {
	Subject    string   `arg:"" help:"Whom or what it is about."`
	Predicate  string   `arg:"" help:"What is said, such as home_address."`
	Value      string   `arg:"" help:"The value: JSON, or text."`
	Source     []string `help:"Source episodes, by id." required:""`
	ObservedAt string   `help:"When it was observed, RFC 3339 with an offset." required:""`
	Confidence float64  `help:"Confidence, 0 to 1." default:"1"`
	Category   string   `help:"Consent category." default:"general"`
	Scope      string   `help:"Scope."`
	ValidFrom  string   `help:"True from; by default when it was observed."`
	ValidTo    string   `help:"True until."`
	ExpiresAt  string   `help:"Forgotten by recall after."`
	Trace      []string `help:"Recalls that it may have been made from, by id."`
	Supersedes string   `help:"The fact that is taken to be current; if another one is, nothing is written."`
	Key        string   `help:"Idempotency key."`
}

type proposed struct {
	CandidateID string   `json:"candidate_id"`
	Decision    string   `json:"decision"`
	FactID      string   `json:"fact_id,omitempty"`
	Superseded  []string `json:"superseded"`
	Gates       []struct {
		Gate    string `json:"gate"`
		Outcome string `json:"outcome"`
		Reason  string `json:"reason"`
	} `json:"gates"`
	Policy   jsontext.Value `json:"policy"`
	Position uint64         `json:"position"`
}

// Run proposes a fact and prints what was decided, gate by gate.
func (k proposeCmd) Run(ctx context.Context, c *cli, t terminal) error {
	body := map[string]any{
		"subject": k.Subject, "predicate": k.Predicate, "value": jsonOrText(k.Value), "category": k.Category,
		"confidence": k.Confidence, "observed_at": k.ObservedAt, "source_episodes": k.Source,
	}
	put(body, "scope", k.Scope)
	put(body, "valid_from", k.ValidFrom)
	put(body, "valid_to", k.ValidTo)
	put(body, "expires_at", k.ExpiresAt)
	put(body, "supersedes", k.Supersedes)
	if len(k.Trace) > 0 {
		body["traces"] = k.Trace
	}
	return c.with(ctx, t, func(s *session) error {
		var out proposed
		err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/facts", Key: k.Key, Body: body, Out: &out})
		if err != nil {
			return fmt.Errorf("propose: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		if err := say(t, "%s %s at %d\n", out.Decision, out.CandidateID, out.Position); err != nil {
			return err
		}
		for _, g := range out.Gates {
			if err := say(t, "  %-12s %-10s %s\n", g.Gate, g.Outcome, g.Reason); err != nil {
				return err
			}
		}
		if len(out.Superseded) > 0 {
			return say(t, "  superseded %s\n", strings.Join(out.Superseded, ", "))
		}
		return nil
	})
}

// jsonOrText is a value as JSON if it is JSON, else as a string.
func jsonOrText(s string) any {
	if v := jsontext.Value(s); v.IsValid() {
		return v
	}
	return s
}
