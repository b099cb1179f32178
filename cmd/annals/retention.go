package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/retention"
)

// readSchedule reads a retention schedule; "" is none.
func readSchedule(path string) (*retention.Schedule, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // No schedule is one that keeps everything.
	}
	b, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errMisuse, err)
	}
	s, err := retention.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errMisuse, path, err)
	}
	return s, nil
}

type retainCmd struct {
	Preview previewCmd `cmd:"" help:"Show what would be erased by a time; it changes nothing."`
}

type previewCmd struct {
	At       string `help:"By this time, RFC 3339 with an offset; without it now." placeholder:"TIME"`
	Schedule string `help:"Schedule to go by where no server runs; a server goes by its own." type:"existingfile" placeholder:"FILE"`
}

// Run shows what a run of the schedule would end.
func (k previewCmd) Run(ctx context.Context, c *cli, t terminal) error {
	var err error
	if c.schedule, err = readSchedule(k.Schedule); err != nil {
		return err
	}
	if c.schedule != nil && c.Addr != "" {
		return fmt.Errorf("%w: the server at --addr goes by its own schedule", errMisuse)
	}
	path := "/v1/retention/preview"
	if k.At != "" {
		path += "?" + url.Values{"at": {k.At}}.Encode()
	}
	return c.reading(ctx, t, func(s *session) error {
		var p retention.Preview
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: path, Out: &p}); err != nil {
			return fmt.Errorf("preview: %w", err)
		}
		if c.JSON {
			return printJSON(t, p)
		}
		return printPreview(t, p)
	})
}

func printPreview(t terminal, p retention.Preview) error {
	if !p.Scheduled {
		if err := say(t, "there is no schedule: episodes and facts are kept\n"); err != nil {
			return err
		}
	}
	if err := say(t, "by %s %d would be erased\n", p.At.Format("2006-01-02 15:04:05Z07:00"), p.Total); err != nil {
		return err
	}
	for _, g := range p.Groups {
		category := g.Category
		if category == "" {
			category = "(default)"
		}
		if err := say(t, "%-20s  %-9s  %-9s  %-6s  %d, %d held\n", category, g.Kind, g.Cause, g.Period, g.Count, g.Held); err != nil {
			return err
		}
	}
	return nil
}

// errOwnSchedule says that a schedule was given where a server runs.
var errOwnSchedule = errors.New("a server runs on the directory and goes by its own schedule")

// served is what open returns to a command that brought a schedule.
func (c *cli) served(err error) error {
	if c.schedule != nil && errors.Is(err, node.ErrLocked) {
		return fmt.Errorf("%w: %w", errMisuse, errOwnSchedule)
	}
	return nil
}
