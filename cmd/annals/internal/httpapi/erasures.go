package httpapi

import (
	"context"
	"net/http"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

func (a *API) erasures() {
	readers := []events.Role{events.RoleAgent, events.RoleAuditor, events.RoleAdmin}
	c := a.core
	add(a, Route{Method: http.MethodGet, Path: "/v1/erasures/{id}", Summary: "How far an erasure has come. One that matched nothing has no account.", Roles: readers},
		func(ctx context.Context, r Request[None]) (tombstones.Status, error) {
			return c.Eraser.Status(ctx, r.Caller, r.Path("id"))
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/erasures/{id}/receipt", Summary: "The signed receipt of an erasure that is purged.", Roles: readers},
		func(ctx context.Context, r Request[None]) (tombstones.SignedReceipt, error) {
			return c.Eraser.Receipt(ctx, r.Caller, r.Path("id"))
		})
}
