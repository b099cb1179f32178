package query

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// SuppressionsRequest asks for a page of what is kept out.
type SuppressionsRequest struct {
	Cursor string `json:"cursor,omitempty"`
	// Limit is how many there are on a page, 1 to 1,000; nil is 100.
	Limit *int `json:"limit,omitempty"`
}

// SuppressionsAnswer is one page of what is kept out, newest first. There is no value
// in it, and no hash of one.
type SuppressionsAnswer struct {
	Suppressions []suppression.Suppression `json:"suppressions"`
	// Cursor goes on behind the last of them; empty at the end.
	Cursor string `json:"cursor,omitempty"`
}

// Lifted is the answer to the end of a suppression.
type Lifted struct {
	Position uint64 `json:"position"`
}

// Suppressions lists what is kept from coming back, for admins. The errors are
// ErrForbidden, an InputError and the log's.
func (x *Suppressor) Suppressions(ctx context.Context, caller events.Caller, req SuppressionsRequest) (SuppressionsAnswer, error) {
	out := SuppressionsAnswer{Suppressions: []suppression.Suppression{}}
	if !caller.Has(events.RoleAdmin) {
		return out, events.ErrForbidden
	}
	if req.Limit != nil && (*req.Limit < 1 || *req.Limit > pageSize) {
		return out, malformed("limit", "out_of_range", "must be 1 to "+strconv.Itoa(pageSize))
	}
	before := uint64(0)
	if req.Cursor != "" {
		var err error
		if before, err = strconv.ParseUint(req.Cursor, 10, 64); err != nil || before == 0 {
			return out, badCursor()
		}
	}
	tenant, err := x.s.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("find tenant: %w", err)
	}
	all, err := x.set.List(ctx, tenant)
	if err != nil {
		return out, fmt.Errorf("list what is kept out: %w", err)
	}
	for _, s := range all {
		if before != 0 && s.Position >= before {
			continue
		}
		if len(out.Suppressions) == limitOf(req.Limit) {
			out.Cursor = strconv.FormatUint(out.Suppressions[len(out.Suppressions)-1].Position, 10)
			break
		}
		out.Suppressions = append(out.Suppressions, s)
	}
	return out, nil
}

// Lift ends a suppression, for admins: what it kept out can be told again, unless
// another one keeps it out. What is not there and what is another tenant's are one
// error, ErrNotFound. The others are ErrForbidden and the log's.
func (x *Suppressor) Lift(ctx context.Context, caller events.Caller, id string) (Lifted, error) {
	if !caller.Has(events.RoleAdmin) {
		return Lifted{}, events.ErrForbidden
	}
	tenant, err := x.s.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return Lifted{}, events.ErrNotFound
	}
	if err != nil {
		return Lifted{}, fmt.Errorf("find tenant: %w", err)
	}
	canonical := token.CanonicalID(id)
	if canonical == "" {
		return Lifted{}, events.ErrNotFound
	}
	position, err := x.set.Remove(ctx, tenant, token.Principal(tenant, caller.Principal), canonical)
	if err != nil {
		return Lifted{}, fmt.Errorf("lift what is kept out: %w", err)
	}
	return Lifted{Position: position}, nil
}
