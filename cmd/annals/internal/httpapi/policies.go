package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
)

// simulationTimeout bounds a simulation.
const simulationTimeout = 5 * time.Minute

// checkQuery is the query of an activation.
type checkQuery struct {
	// Check says that nothing is to be activated.
	Check bool `json:"check,omitzero"`
}

func (a *API) policies() {
	admin := []events.Role{events.RoleAdmin}
	reviewers := []events.Role{events.RoleReviewer, events.RoleAdmin}
	readers := append([]events.Role{events.RoleAuditor}, reviewers...)
	c := a.core
	add(a, Route{Method: http.MethodGet, Path: "/v1/policies/{name}", Summary: "The policy in force.", Roles: readers},
		func(ctx context.Context, r Request[None]) (producers.PolicyAnswer, error) {
			return c.Gateway.Policy(ctx, r.Caller, r.Path("name"))
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/policies/{name}/history", Summary: "The policies that were in force, the first one first.", Roles: readers},
		func(ctx context.Context, r Request[None]) (producers.PolicyHistory, error) {
			return c.Gateway.PolicyHistory(ctx, r.Caller, r.Path("name"))
		})
	a.routes = append(a.routes, Route{
		Method: http.MethodPut, Path: "/v1/policies/{name}", Roles: admin, Status: http.StatusOK,
		Summary: "Put a policy into force, or with ?check=true only say whether it could be.",
		query:   reflect.TypeFor[checkQuery](), in: reflect.TypeFor[producers.PolicyRequest](), out: reflect.TypeFor[producers.PolicyAnswer](),
		serve: a.putPolicy,
	})
	add(a, Route{
		Method: http.MethodPost, Path: "/v1/policies/simulate", Roles: reviewers, limit: simulationTimeout,
		Summary: "What a policy, or the one in force, would have decided otherwise. It changes nothing.",
	}, func(ctx context.Context, r Request[producers.SimulateRequest]) (producers.Simulation, error) {
		return c.Simulator.Simulate(ctx, r.Caller, r.In)
	})
	add(a, Route{
		Method: http.MethodPost, Path: "/v1/policies/verify", Roles: readers, limit: simulationTimeout,
		Summary: "Make every recorded decision again, by the policy that it names. It changes nothing.",
	}, func(ctx context.Context, r Request[None]) (producers.VerifiedDecisions, error) {
		return c.Simulator.Verify(ctx, r.Caller)
	})
}

func (a *API) putPolicy(w http.ResponseWriter, r *http.Request, caller events.Caller) {
	var (
		q  checkQuery
		in producers.PolicyRequest
	)
	err := decodeQuery(r.URL.Query(), &q)
	if err == nil {
		err = decodeBody(w, r, &in)
	}
	if err != nil {
		a.fail(w, r, err)
		return
	}
	do := a.core.Gateway.ActivatePolicy
	if q.Check {
		do = a.core.Gateway.CheckPolicy
	}
	out, err := do(r.Context(), caller, r.PathValue("name"), in)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	write(w, http.StatusOK, "application/json", out)
}
