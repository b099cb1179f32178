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
	add(a, Route{Method: http.MethodGet, Path: "/v1/erasures", Summary: "The erasures there are, newest first.", Roles: readers},
		func(ctx context.Context, r Request[tombstones.ErasuresRequest]) (tombstones.Erasures, error) {
			return c.Eraser.Erasures(ctx, r.Caller, r.In)
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/erasures/{id}", Summary: "How far an erasure has come. One that matched nothing has no account.", Roles: readers},
		func(ctx context.Context, r Request[None]) (tombstones.Status, error) {
			return c.Eraser.Status(ctx, r.Caller, r.Path("id"))
		})
	add(a, Route{Method: http.MethodGet, Path: "/v1/erasures/{id}/receipt", Summary: "The signed receipt of an erasure that is purged.", Roles: readers},
		func(ctx context.Context, r Request[None]) (tombstones.SignedReceipt, error) {
			return c.Eraser.Receipt(ctx, r.Caller, r.Path("id"))
		})
	a.suppressions()
	a.subjects()
	admin := []events.Role{events.RoleAdmin}
	add(a, Route{Method: http.MethodPut, Path: "/v1/subjects/{subject}/holds/{hold}", Summary: "Put a legal hold on a subject: nothing of it is shown, and nothing destroyed.", Roles: admin},
		func(ctx context.Context, r Request[None]) (tombstones.Hold, error) {
			return c.Eraser.Hold(ctx, r.Caller, r.Path("subject"), r.Path("hold"))
		})
	add(a, Route{Method: http.MethodDelete, Path: "/v1/subjects/{subject}/holds/{hold}", Summary: "Lift a legal hold; what was forgotten meanwhile is erased.", Roles: admin},
		func(ctx context.Context, r Request[None]) (tombstones.Hold, error) {
			return c.Eraser.Release(ctx, r.Caller, r.Path("subject"), r.Path("hold"))
		})
	add(a, Route{
		Method: http.MethodPut, Path: "/v1/subjects/{subject}/consents/{category}", Roles: []events.Role{events.RoleAgent, events.RoleAdmin},
		Summary: "Give a consent, or take it back, which forgets what was kept under it.",
	}, a.consent)
}

// consent is the body of a consent.
type consent struct {
	Granted *bool  `json:"granted"`
	Basis   string `json:"basis,omitempty"`
}

// consented is the answer: the erasure is that of a consent that was taken back.
type consented struct {
	Granted  bool                `json:"granted"`
	Position uint64              `json:"position"`
	Erasure  *tombstones.Erasure `json:"erasure,omitempty"`
}

func (a *API) consent(ctx context.Context, r Request[consent]) (consented, error) {
	subject, category := r.Path("subject"), r.Path("category")
	switch {
	case r.In.Granted == nil:
		return consented{}, &events.InputError{Kind: events.Malformed, Code: "missing", Field: "granted", Rule: "is required"}
	case *r.In.Granted:
		w, err := a.core.Gateway.GrantConsent(ctx, r.Caller, subject, category, r.In.Basis)
		return consented{Granted: true, Position: w.Position}, err
	}
	e, err := a.core.Eraser.WithdrawConsent(ctx, r.Caller, subject, category)
	return consented{Position: e.Position, Erasure: &e}, err
}
