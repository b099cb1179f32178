package httpapi

import (
	"context"
	"net/http"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
)

func (a *API) suppressions() {
	admin := []events.Role{events.RoleAdmin}
	c := a.core
	add(a, Route{Method: http.MethodGet, Path: "/v1/suppressions", Summary: "What is kept from coming back, by ids, times and numbers.", Roles: admin},
		func(ctx context.Context, r Request[query.SuppressionsRequest]) (query.SuppressionsAnswer, error) {
			return c.Forgetter.Suppressions(ctx, r.Caller, r.In)
		})
	add(a, Route{Method: http.MethodDelete, Path: "/v1/suppressions/{id}", Summary: "Let what was kept out in again.", Roles: admin},
		func(ctx context.Context, r Request[None]) (query.Lifted, error) {
			return c.Forgetter.Lift(ctx, r.Caller, r.Path("id"))
		})
}
