package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type importCmd struct {
	File string `arg:"" help:"JSON Lines, one episode a line; - is standard input."`
}

const (
	importWriters = 16
	maxLine       = 8 << 20
)

type refusedLine struct {
	Line  int    `json:"line"`
	Code  string `json:"code"`
	Field string `json:"field,omitempty"`
	Rule  string `json:"rule"`
}

type imported struct {
	Captured    int           `json:"captured"`
	Quarantined int           `json:"quarantined"`
	Undated     int           `json:"undated"`
	Refused     []refusedLine `json:"refused"`
	Position    uint64        `json:"position"`
}

// Run captures every line. Each line's idempotency key is its hash and how
// often the same line came before it, so that an import which was cut, or is
// run again over a file that grew, adds only what is not there yet.
func (k importCmd) Run(ctx context.Context, c *cli, t terminal) error {
	in := t.in
	if k.File != "-" {
		f, err := os.Open(k.File)
		if err != nil {
			return fmt.Errorf("%w: %w", errMisuse, err)
		}
		defer f.Close() //nolint:errcheck // It was only read.
		in = f
	}
	return c.with(ctx, t, func(s *session) error {
		out, err := importLines(ctx, s, in, newBar(t, c.JSON, "import"))
		if err != nil {
			return err
		}
		if c.JSON {
			err = printJSON(t, out)
		} else {
			err = printImported(t, out)
		}
		if err == nil && len(out.Refused) > 0 {
			err = fmt.Errorf("%d lines were refused", len(out.Refused))
		}
		return err
	})
}

func printImported(t terminal, out imported) error {
	for _, r := range out.Refused {
		if err := say(t, "line %d: %s: %s\n", r.Line, strings.TrimSpace(r.Code+" "+r.Field), r.Rule); err != nil {
			return err
		}
	}
	return say(t, "captured %d, quarantined %d, refused %d, without a date %d, at %d\n",
		out.Captured, out.Quarantined, len(out.Refused), out.Undated, out.Position)
}

func importLines(ctx context.Context, s *session, in io.Reader, bar *bar) (imported, error) {
	out := imported{Refused: []refusedLine{}}
	var mu sync.Mutex // guards out
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(importWriters)
	seen := map[[sha256.Size]byte]int{}
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, maxLine)
	for n := 1; scan.Scan() && gctx.Err() == nil; n++ {
		line := strings.TrimSpace(strings.TrimPrefix(scan.Text(), "\ufeff")) // some write a mark before the first line
		if line == "" {
			continue
		}
		sum := sha256.Sum256([]byte(line))
		seen[sum]++
		key := fmt.Sprintf("import-%s-%d", hex.EncodeToString(sum[:]), seen[sum])
		g.Go(func() error {
			var res struct {
				Position uint64 `json:"position"`
				Status   string `json:"status"`
			}
			err := sendLine(gctx, s, line, key, &res)
			mu.Lock()
			defer mu.Unlock()
			bar.add(1)
			if p, ok := errors.AsType[*client.ProblemError](err); ok && p.Status/100 == 4 && p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden {
				out.Refused = append(out.Refused, refusedLine{Line: n, Code: p.Code, Field: p.Field, Rule: p.Detail})
				return nil
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			out.Position = max(out.Position, res.Position)
			if res.Status == "quarantined" {
				out.Quarantined++
			} else {
				out.Captured++
			}
			if !strings.Contains(line, `"occurred_at"`) {
				out.Undated++
			}
			return nil
		})
	}
	err := errors.Join(g.Wait(), scan.Err())
	bar.finish()
	slices.SortFunc(out.Refused, func(a, b refusedLine) int { return a.Line - b.Line })
	return out, err
}

func sendLine(ctx context.Context, s *session, line, key string, res any) error {
	v := jsontext.Value(line)
	if !v.IsValid() {
		return &client.ProblemError{Status: http.StatusBadRequest, Code: "malformed", Field: "line", Detail: "is not valid JSON"}
	}
	return s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/episodes", Key: key, Body: v, Out: res})
}
