package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

type rotateCmd struct {
	Alone bool `help:"With an external NATS server: no other process has the root key open."`
}

type rootEpoch struct {
	Number  uint64    `json:"number"`
	ID      string    `json:"id"`
	Created time.Time `json:"created,omitzero"`
}

type rootRotation struct {
	Old       rootEpoch `json:"old"`
	New       rootEpoch `json:"new"`
	Destroyed time.Time `json:"destroyed"`
}

// Run rotates the root key and destroys the one before.
func (k rotateCmd) Run(ctx context.Context, c *cli, t terminal) error {
	return c.reading(ctx, t, func(s *session) error {
		var out rootRotation
		in := map[string]any{"alone": k.Alone}
		if err := s.Do(ctx, client.Call{Method: http.MethodPost, Path: "/v1/keys/rotate", Body: in, Out: &out}); err != nil {
			return fmt.Errorf("rotate: %w", err)
		}
		if c.JSON {
			return printJSON(t, out)
		}
		const at = "2006-01-02 15:04:05Z07:00"
		return say(t, "epoch %d, key %s, destroyed at %s\nepoch %d, key %s, created at %s\n"+
			"backups of the keys from before cannot be opened any more: take a new one, and a new copy of the root key file\n",
			out.Old.Number, out.Old.ID, out.Destroyed.Format(at), out.New.Number, out.New.ID, out.New.Created.Format(at))
	})
}
