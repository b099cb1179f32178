package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
)

func (a *API) reviews() {
	reviewers := []events.Role{events.RoleReviewer, events.RoleAdmin}
	c := a.core
	add(a, Route{Method: http.MethodGet, Path: "/v1/reviews", Summary: "What waits for a reviewer, or did. Not for agents.", Roles: reviewers, Reads: true},
		func(ctx context.Context, r Request[query.ReviewsRequest]) (query.ReviewsAnswer, error) {
			return c.Query.Reviews(ctx, r.Caller, r.In)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/reviews/{id}", Summary: "One candidate or quarantined episode, with its sources, its context and what it stands against. Not for agents.", Roles: reviewers, Reads: true},
		func(ctx context.Context, r Request[position]) (query.ReviewAnswer, error) {
			return c.Query.Review(ctx, r.Caller, record(r, r.In.WaitFor))
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/reviews/{id}/approve", Summary: "Approve exactly what was shown, or an edit of it. Not for agents, nor for who proposed it.", Roles: reviewers},
		func(ctx context.Context, r Request[producers.ReviewRequest]) (producers.Reviewed, error) {
			out, err := c.Gateway.Approve(ctx, r.Caller, r.Key, r.Path("id"), r.In)
			if !errors.Is(err, events.ErrNotFound) || r.In.Edit != nil {
				return out, err
			}
			released, err := c.Gateway.ReleaseEpisode(ctx, r.Caller, r.Key, r.Path("id"), r.In)
			return episodeReviewed(released.ID, events.DecisionPromote, released.Position), err
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/reviews/{id}/reject", Summary: "Reject exactly what was shown. Not for agents, nor for who proposed it.", Roles: reviewers},
		func(ctx context.Context, r Request[producers.ReviewRequest]) (producers.Reviewed, error) {
			out, err := c.Gateway.Reject(ctx, r.Caller, r.Key, r.Path("id"), r.In)
			if !errors.Is(err, events.ErrNotFound) {
				return out, err
			}
			dropped, err := c.Gateway.DropEpisode(ctx, r.Caller, r.Key, r.Path("id"), r.In)
			return episodeReviewed(r.Path("id"), events.DecisionReject, dropped.Position), err
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/reviews/{id}/undo", Summary: "Take the last review of a candidate back, within a day, while nothing rests on it.", Roles: reviewers},
		func(ctx context.Context, r Request[None]) (producers.Written, error) {
			return c.Gateway.UndoReview(ctx, r.Caller, r.Key, r.Path("id"))
		})
}

// episodeReviewed is the answer to a review of an episode, which one reviewer
// decides on.
func episodeReviewed(id string, d events.Decision, position uint64) producers.Reviewed {
	out := producers.Reviewed{
		ID: id, Decision: d, Needed: 1, Superseded: []string{}, Gates: []events.Gate{}, Position: position,
	}
	if d == events.DecisionPromote {
		out.Approvals = 1
	}
	return out
}
