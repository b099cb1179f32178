package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// RootEpoch is the time for which keys are wrapped under one root key.
type RootEpoch struct {
	Number uint64 `json:"number"`
	ID     string `json:"id"`
	// Created is when the key was drawn; zero if that is not known.
	Created time.Time `json:"created,omitzero"`
}

// EpochOf is an epoch as the door shows it.
func EpochOf(e seal.RootEpoch) RootEpoch {
	return RootEpoch{Number: e.Number, ID: e.ID, Created: e.Created}
}

// RootRotation is a rotation that is finished.
type RootRotation struct {
	Old RootEpoch `json:"old"`
	New RootEpoch `json:"new"`
	// Destroyed is when the old key was.
	Destroyed time.Time `json:"destroyed"`
}

// rotation is the body of a rotation.
type rotation struct {
	// Alone says that no other process has the root key open.
	Alone bool `json:"alone,omitzero"`
}

func (a *API) keys() {
	add(a, Route{
		Method: http.MethodPost, Path: "/v1/keys/rotate", Roles: []events.Role{events.RoleAdmin},
		Summary: "Give the root a fresh key and destroy the one before: no older copy of the keys can be opened any more. For the operator of the data directory alone.",
	}, func(ctx context.Context, r Request[rotation]) (RootRotation, error) {
		if r.Caller.Tenant != auth.LocalTenant {
			// It is above all tenants.
			return RootRotation{}, events.ErrForbidden
		}
		return a.core.RotateRoot(ctx, r.In.Alone)
	})
}
