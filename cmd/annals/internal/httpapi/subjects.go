package httpapi

import (
	"context"
	"net/http"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// subjects are the calls that tell what stands with a subject as a whole.
func (a *API) subjects() {
	c := a.core
	add(a, Route{
		Method: http.MethodGet, Path: "/v1/subjects/{subject}/consents", Reads: true, Roles: []events.Role{events.RoleAdmin, events.RoleReviewer},
		Summary: "What a subject has agreed to and taken back, and on what basis.",
	}, func(ctx context.Context, r Request[None]) (query.ConsentsAnswer, error) {
		return c.Query.Consents(ctx, r.Caller, r.Path("subject"))
	})
	add(a, Route{
		Method: http.MethodGet, Path: "/v1/subjects/{subject}/holds", Roles: []events.Role{events.RoleAdmin},
		Summary: "The legal holds on a subject, and since when.",
	}, func(ctx context.Context, r Request[None]) (tombstones.Holds, error) {
		return c.Eraser.Holds(ctx, r.Caller, r.Path("subject"))
	})
}
