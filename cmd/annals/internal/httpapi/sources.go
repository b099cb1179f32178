package httpapi

import (
	"context"
	"net/http"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

func (a *API) sources() {
	writers := []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAdmin}
	c := a.core
	add(a, Route{
		Method: http.MethodPost, Path: "/v1/sources/revisions", Roles: writers,
		Summary: "Make a revision of a source the current one, and retire what was taken from the others.",
	}, func(ctx context.Context, r Request[producers.ReviseRequest]) (producers.Written, error) {
		return c.Gateway.ReviseSource(ctx, r.Caller, r.Key, r.In)
	})
	add(a, Route{
		Method: http.MethodGet, Path: "/v1/sources", Roles: append([]events.Role{events.RoleAuditor}, writers...),
		Summary: "The revisions of a source.",
	}, func(ctx context.Context, r Request[query.SourceRequest]) (query.SourceAnswer, error) {
		return c.Query.Source(ctx, r.Caller, r.In)
	})
}
