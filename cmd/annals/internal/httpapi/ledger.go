package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// LedgerStatus is where the account of the log stands.
type LedgerStatus struct {
	// State is healthy, damaged, or unanchored while the anchor cannot be written:
	// nothing is purged then.
	State string `json:"state"`
	// Damage is what kind of damage it is, Position where, Detail in words.
	Damage   ledger.Kind `json:"damage,omitempty"`
	Position uint64      `json:"position,omitzero"`
	Detail   string      `json:"detail,omitempty"`
	// Covered is how many positions the last checkpoint covers.
	Covered uint64 `json:"covered,omitzero"`
}

func (a *API) ledger() {
	operators := []events.Role{events.RoleAuditor, events.RoleAdmin}
	admin := []events.Role{events.RoleAdmin}
	c := a.core
	add(a, Route{Method: http.MethodGet, Path: "/v1/ledger", Summary: "Where the account of the log stands, and what is wrong with the log.", Roles: operators, Recovery: true},
		func(context.Context, Request[None]) (LedgerStatus, error) {
			if d := c.Damage(); d != nil {
				return LedgerStatus{State: "damaged", Damage: d.Kind, Position: d.Position, Detail: d.Error()}, nil
			}
			if c.Ledger.Unanchored() != nil {
				return LedgerStatus{State: "unanchored", Detail: "the anchor cannot be written", Covered: c.Ledger.Covered()}, nil //nolint:nilerr // It is what was asked for.
			}
			return LedgerStatus{State: "healthy", Covered: c.Ledger.Covered()}, nil
		})
	a.routes = append(a.routes, Route{
		Method: http.MethodGet, Path: "/v1/ledger/checkpoint", Roles: operators, Status: http.StatusOK, Recovery: true,
		Summary: "The last checkpoint, as a signed note. While the log is damaged it is the one that is kept outside of it.",
		in:      reflect.TypeFor[None](), out: reflect.TypeFor[string](), media: "text/plain", serve: a.checkpoint,
	})
	add(a, Route{Method: http.MethodGet, Path: "/v1/ledger/proof/{position}", Summary: "The proof that the tree covers what is, or was, at a position.", Roles: operators},
		func(ctx context.Context, r Request[None]) (ledger.Proof, error) {
			position, err := strconv.ParseUint(r.Path("position"), 10, 63)
			if err != nil || position == 0 {
				return ledger.Proof{}, &events.InputError{Kind: events.Malformed, Code: "bad_value", Field: "position", Rule: "is a number from 1"}
			}
			return c.Ledger.Prove(ctx, position)
		})
	add(a, Route{Method: http.MethodPost, Path: "/v1/ledger/verify", Summary: "Compare the whole log with its ledger and its anchor.", Roles: admin, Status: http.StatusAccepted},
		func(context.Context, Request[None]) (Operation, error) { return a.ops.begin("verify", logName) })
}

func (a *API) checkpoint(w http.ResponseWriter, r *http.Request, _ events.Caller) {
	if err := decodeQuery(r.URL.Query(), &None{}); err != nil {
		a.fail(w, r, err)
		return
	}
	signed := func() ([]byte, error) { return a.core.Ledger.Signed(r.Context()) }
	if a.core.Damage() != nil {
		signed = a.core.Anchor
	}
	b, err := signed()
	if err != nil {
		a.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(b) // nobody is left to tell
}
