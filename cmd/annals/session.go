package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

// session is a way to reach the memory: a server, or the data directory
// itself, opened for as long as the command runs.
type session struct {
	*client.Client

	close func() error
}

// open reaches the server that was named, else the one that runs on the data
// directory, else opens the directory.
func (c *cli) open(ctx context.Context, t terminal) (*session, error) {
	token := c.Token
	if token == "" {
		var err error
		if token, err = node.ReadLocalToken(c.Data); err != nil && c.Addr != "" {
			return nil, fmt.Errorf("no --token, and %w", err)
		}
	}
	if c.Addr != "" {
		return &session{Client: client.New(c.Addr, token), close: func() error { return nil }}, nil
	}
	if c.existing && !node.Exists(c.Data) {
		return nil, fmt.Errorf("%w: there is nothing in %s", errMisuse, c.Data)
	}
	n, err := node.Open(ctx, node.Options{Data: c.Data, Retention: c.schedule, KeepAll: true, KeepModel: true, Logger: c.logger(t)})
	if err := c.served(err); err != nil {
		return nil, err
	}
	if errors.Is(err, node.ErrLocked) {
		addr, aerr := node.RunningAddr(c.Data)
		if aerr != nil {
			return nil, fmt.Errorf("%w, and %w", err, aerr)
		}
		return &session{Client: client.New(addr, token), close: func() error { return nil }}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	if c.Token == "" {
		token = n.LocalToken()
	}
	stop := n.Start(ctx)
	if err := n.CatchUp(ctx); err != nil {
		return nil, errors.Join(err, stop(), n.Close())
	}
	return &session{Client: client.InProcess(n.Handler(), token), close: func() error {
		// Nobody else will embed what was captured.
		note := time.AfterFunc(settleNote, func() {
			_, _ = fmt.Fprintln(t.err, "embedding what was captured") // a note is no reason to fail
		})
		defer note.Stop()
		return errors.Join(n.Settle(ctx), stop(), n.Close())
	}}, nil
}

// settleNote is how long a command ends in silence.
const settleNote = 2 * time.Second

// reading runs f in a session of a command that makes nothing: a directory
// that is not there is a slip, not a new memory.
func (c *cli) reading(ctx context.Context, t terminal, f func(*session) error) error {
	c.existing = true
	return c.with(ctx, t, f)
}

// with runs f in a session and closes it.
func (c *cli) with(ctx context.Context, t terminal, f func(*session) error) (err error) {
	s, err := c.open(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return f(s)
}

func (c *cli) logger(t terminal) *slog.Logger {
	level := slog.LevelWarn
	if c.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(t.err, &slog.HandlerOptions{Level: level}))
}

// printJSON writes any answer as it came.
func printJSON(t terminal, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return say(t, "%s\n", b)
}

// say writes to the terminal.
func say(t terminal, format string, args ...any) error {
	if _, err := fmt.Fprintf(t.out, format, args...); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// setIf sets a query parameter that has a value.
func setIf(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

// parseActors reads id or id=role.
func parseActors(list []string) []map[string]any {
	var actors []map[string]any
	for _, a := range list {
		id, role, ok := strings.Cut(a, "=")
		if !ok {
			role = "participant"
		}
		actors = append(actors, map[string]any{"id": id, "role": role})
	}
	return actors
}
