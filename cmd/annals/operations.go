package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type replayCmd struct {
	Name []string `arg:"" optional:"" help:"Views to rebuild; without one, all."`
}

type verifyCmd struct {
	Name []string `arg:"" optional:"" help:"Views to verify, and log for the log itself; without one, all."`
}

type retryCmd struct {
	Name []string `arg:"" optional:"" help:"Views to retry; without one, all."`
}

type statusCmd struct{}

type projection struct {
	Projection string `json:"projection"`
	Generation uint64 `json:"generation"`
	Position   uint64 `json:"position"`
	Head       uint64 `json:"head"`
	Lag        uint64 `json:"lag"`
	Digest     string `json:"digest"`
	Records    uint64 `json:"records"`
	Parked     int    `json:"parked"`
	Unopened   int    `json:"unopened"`
	Healthy    bool   `json:"healthy"`
	Recipe     *struct {
		Model     string `json:"model"`
		Tokenizer string `json:"tokenizer"`
		Place     string `json:"place"`
	} `json:"recipe,omitempty"`
	Building *struct {
		Generation uint64 `json:"generation"`
		Position   uint64 `json:"position"`
		Target     uint64 `json:"target"`
	} `json:"building,omitempty"`
}

type operation struct {
	ID         string `json:"id"`
	Kind       string `json:"kind"`
	Projection string `json:"projection"`
	State      string `json:"state"`
	Position   uint64 `json:"position"`
	Head       uint64 `json:"head"`
	Folded     int    `json:"folded,omitzero"`
	Parked     uint64 `json:"parked,omitzero"`
	OldDigest  string `json:"old_digest,omitempty"`
	NewDigest  string `json:"new_digest,omitempty"`
	Error      string `json:"error,omitempty"`
}

// logName stands for the log itself among the names of views.
const logName = "log"

const pollEvery = 100 * time.Millisecond

// Run rebuilds views from the log; the server goes on serving meanwhile.
func (k replayCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.operate(ctx, t, k.Name, "replay")
}

// Run compares the log with its ledger, and views with a fresh fold of the log.
func (k verifyCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.operate(ctx, t, k.Name, "verify")
}

// Run folds again what is parked, such as what an earlier version did not know.
func (k retryCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.operate(ctx, t, k.Name, "retry")
}

func (c *cli) operate(ctx context.Context, t terminal, names []string, kind string) error {
	return c.reading(ctx, t, func(s *session) error {
		if len(names) == 0 {
			list, err := projections(ctx, s)
			if err != nil {
				return err
			}
			for _, p := range list {
				names = append(names, p.Projection)
			}
			if kind == "verify" {
				names = append([]string{logName}, names...)
			}
		}
		var done []operation
		var failed error
		for _, name := range names {
			op, err := await(ctx, s, name, kind, newBar(t, c.JSON, kind+" "+name))
			if err != nil {
				return err
			}
			done = append(done, op)
			if op.State == "failed" {
				failed = errors.Join(failed, fmt.Errorf("%s %s: %s", kind, name, op.Error))
			}
			if !c.JSON {
				if err := say(t, "%-9s %s: %s\n", name, kind, op.outcome()); err != nil {
					return err
				}
			}
		}
		if c.JSON {
			return errors.Join(printJSON(t, map[string]any{"operations": done}), failed)
		}
		return failed
	})
}

// outcome is how an operation ended, in a few words.
func (op *operation) outcome() string {
	switch {
	case op.Projection == logName && op.State == "failed":
		return "DAMAGED"
	case op.Projection == logName:
		return fmt.Sprintf("as its ledger and its anchor have it, to %d", op.Position)
	case op.Kind == "retry":
		return fmt.Sprintf("folded %d, parked %d", op.Folded, op.Parked)
	case op.OldDigest == "" || op.NewDigest == "":
		return "FAILED"
	}
	verdict := "equal"
	switch {
	case op.State != "failed":
	case op.Parked > 0 && op.OldDigest == op.NewDigest:
		verdict = fmt.Sprintf("%d PARKED", op.Parked)
	default:
		verdict = "NOT EQUAL"
	}
	return fmt.Sprintf("%s at %d (%.12s, %.12s)", verdict, op.Position, op.OldDigest, op.NewDigest)
}

func await(ctx context.Context, s *session, name, kind string, b *bar) (operation, error) {
	var op operation
	path := "/v1/projections/" + name + "/" + kind
	if name == logName && kind == "verify" {
		path = "/v1/ledger/verify"
	}
	if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: path, Out: &op}); err != nil {
		return op, fmt.Errorf("%s %s: %w", kind, name, err)
	}
	defer b.finish()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for op.State == "running" {
		select {
		case <-ctx.Done():
			return op, fmt.Errorf("%s %s: %w", kind, name, ctx.Err())
		case <-tick.C:
		}
		if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/operations/" + op.ID, Out: &op}); err != nil {
			return op, fmt.Errorf("%s %s: %w", kind, name, err)
		}
		b.set(kind+" "+name, int(op.Position), int(op.Head)) //nolint:gosec // A position fits an int for ever.
	}
	return op, nil
}

func projections(ctx context.Context, s *session) ([]projection, error) {
	var out struct {
		Projections []projection `json:"projections"`
	}
	if err := s.Do(ctx, client.Call{Method: http.MethodGet, Path: "/v1/projections", Out: &out}); err != nil {
		return nil, fmt.Errorf("projections: %w", err)
	}
	return out.Projections, nil
}

// errUnhealthy says that a projection has parked commits or is not healthy.
var errUnhealthy = errors.New("not every projection is healthy")

// Run prints where every projection stands, and fails if one is not well.
func (statusCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		list, err := projections(ctx, s)
		if err != nil {
			return err
		}
		well := !slices.ContainsFunc(list, func(p projection) bool { return !p.Healthy || p.Parked > 0 })
		if c.JSON {
			if err := printJSON(t, map[string]any{"projections": list}); err != nil || well {
				return err
			}
			return errUnhealthy
		}
		for _, p := range list {
			health := "healthy"
			if !p.Healthy {
				health = "NOT HEALTHY"
			}
			err := say(t, "%-9s %s  generation %d  at %d of %d  %d records  %d parked  digest %.12s\n",
				p.Projection, health, p.Generation, p.Position, p.Head, p.Records, p.Parked, p.Digest)
			if err == nil && p.Building != nil {
				err = say(t, "%-9s builds generation %d  at %d of %d\n", "", p.Building.Generation, p.Building.Position, p.Building.Target)
			}
			if err != nil {
				return err
			}
		}
		if err := sayChange(ctx, s, t); err != nil {
			return err
		}
		if !well {
			return errUnhealthy
		}
		return nil
	})
}
