package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type forgetCmd struct {
	IDs       []string `arg:"" optional:"" name:"id" help:"Records to forget; with --source the kind and the reference of the source."`
	Subject   string   `help:"Forget everything about this subject."`
	Source    bool     `help:"Revoke a source, given as KIND REF: forget what was taken from it, and what rests on that alone."`
	Principal string   `help:"Revoke a principal: forget what it captured and proposed, and what rests on that alone."`
	Filter    string   `help:"Forget what matches, as JSON."`
	DryRun    bool     `help:"Only count and list what would be forgotten."`
	Suppress  bool     `help:"Keep what is forgotten from coming back; for an admin."`
	Max       *int     `help:"Refuse if more match, or would go with them."`
	Reason    string   `help:"Why." default:"asked from the command line"`
	Key       string   `help:"Idempotency key."`
}

type erasure struct {
	ErasureID string   `json:"erasure_id,omitempty"`
	Matched   int      `json:"matched"`
	Cascaded  *int     `json:"cascaded,omitempty"`
	Weakened  *int     `json:"weakened,omitempty"`
	Kinds     *kinds   `json:"kinds,omitempty"`
	Position  uint64   `json:"position"`
	Level     string   `json:"level,omitempty"`
	IDs       []string `json:"ids,omitempty"`
	// Suppressed is how many values are kept from coming back, if that was asked for.
	Suppressed *int `json:"suppressed,omitempty"`
}

type kinds struct {
	Episodes int `json:"episodes"`
	Facts    int `json:"facts"`
}

// Run forgets, and returns when nothing that was forgotten can be read.
func (k forgetCmd) Run(ctx context.Context, c *cli, t terminal) error {
	path, body, err := k.request()
	if err != nil {
		return err
	}
	return c.reading(ctx, t, func(s *session) error {
		if err := k.checkMax(ctx, s); err != nil {
			return err
		}
		var out erasure
		if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: path, Key: k.Key, Body: body, Out: &out}); err != nil {
			return fmt.Errorf("forget: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		if k.DryRun {
			return say(t, "%d would be forgotten%s\n", out.Matched, out.reach())
		}
		if out.ErasureID == "" {
			return say(t, "forgot 0: nothing matched\n")
		}
		if err := say(t, "forgot %d, %s, at %d (erasure %s)\n", out.Matched, out.Level, out.Position, out.ErasureID); err != nil {
			return err
		}
		if out.Suppressed != nil {
			return say(t, "  %d values are kept from coming back\n", *out.Suppressed)
		}
		return nil
	})
}

// reach says what a dry run found beside the number.
func (e *erasure) reach() string {
	var b strings.Builder
	if k := e.Kinds; k != nil && k.Facts > 0 {
		fmt.Fprintf(&b, " (%d episodes, %d facts)", k.Episodes, k.Facts)
	}
	if n := e.Cascaded; n != nil && *n > 0 {
		fmt.Fprintf(&b, ", and %d that would go with these", *n)
	}
	if n := e.Weakened; n != nil && *n > 0 {
		fmt.Fprintf(&b, "; %d would lose a source and stay", *n)
	}
	return b.String()
}

// checkMax counts first when a whole subject is to be forgotten: a forget of
// its records would leave the subject, and the questions about it.
func (k forgetCmd) checkMax(ctx context.Context, s *session) error {
	if k.Subject == "" || k.Max == nil || k.DryRun {
		return nil
	}
	body := map[string]any{"filter": map[string]any{"subject": k.Subject}, "max": *k.Max, "dry_run": true}
	if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/forget", Body: body}); err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	return nil
}

func (k forgetCmd) request() (path string, body map[string]any, err error) {
	given := 0
	for _, is := range []bool{len(k.IDs) > 0, k.Subject != "", k.Principal != "", k.Filter != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return "", nil, fmt.Errorf("%w: give ids, --source with its kind and reference, --subject, --principal or --filter, one of them", errMisuse)
	}
	if k.Source && len(k.IDs) != 2 {
		return "", nil, fmt.Errorf("%w: --source takes the kind and the reference of a source", errMisuse)
	}
	body = map[string]any{"reason": k.Reason}
	if k.Suppress {
		body["suppress"] = true
	}
	if k.Subject != "" && !k.DryRun {
		return "/v1/subjects/" + pathSegment(k.Subject) + "/forget", body, nil
	}
	switch {
	case k.Source:
		body["source"] = map[string]any{"kind": k.IDs[0], "ref": k.IDs[1]}
	case len(k.IDs) > 0:
		body["ids"] = k.IDs
	case k.Principal != "":
		body["filter"] = map[string]any{"principal": k.Principal}
	case k.Subject != "":
		body["filter"] = map[string]any{"subject": k.Subject}
	default:
		v := jsontext.Value(k.Filter)
		if !v.IsValid() {
			return "", nil, fmt.Errorf("%w: --filter is not JSON", errMisuse)
		}
		body["filter"] = v
	}
	if k.DryRun {
		body["dry_run"] = true
	}
	if k.Max != nil {
		body["max"] = *k.Max
	}
	return "/v1/forget", body, nil
}

// decodeInto reads the fields that a command prints, whatever else is there.
func decodeInto(raw jsontext.Value, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("decode answer: %w", err)
	}
	return nil
}

// pathSegment is a name as one segment of a path, dots included: . and ..
// would lead elsewhere.
func pathSegment(name string) string {
	return strings.ReplaceAll(url.PathEscape(name), ".", "%2E")
}
