package query

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// Forgetter forgets. It is a *tombstones.Eraser.
type Forgetter interface {
	Forget(ctx context.Context, caller events.Caller, key string, req tombstones.ForgetRequest) (tombstones.Erasure, error)
	ForgetSubject(ctx context.Context, caller events.Caller, key, subject, reason string) (tombstones.Erasure, error)
}

// Suppressor forgets like the eraser behind it and, if a request asks for it, keeps
// what is forgotten from coming back. It is safe for concurrent use.
type Suppressor struct {
	s      *Service
	eraser Forgetter
	set    *suppression.Set
}

// NewSuppressor makes a suppressor. The error is ErrConfig.
func NewSuppressor(s *Service, eraser Forgetter, set *suppression.Set) (*Suppressor, error) {
	if s == nil || eraser == nil || set == nil {
		return nil, fmt.Errorf("%w: something is missing", ErrConfig)
	}
	return &Suppressor{s: s, eraser: eraser, set: set}, nil
}

// Forget is that of the eraser. With Suppress, which is for admins, the texts of
// the episodes and the values of the facts that the request names are kept out
// first: not of those that are derived from them, nor of those that come to match
// in between. The errors are those of the eraser, of [Service.Episode] and of
// [Service.Fact]; values can be kept out by then.
func (x *Suppressor) Forget(ctx context.Context, caller events.Caller, key string, req tombstones.ForgetRequest) (tombstones.Erasure, error) {
	if req.Suppress && !req.DryRun {
		if err := x.keepOut(ctx, caller, req); err != nil {
			return tombstones.Erasure{}, err
		}
	}
	out, err := x.eraser.Forget(ctx, caller, key, req)
	if err != nil {
		return tombstones.Erasure{}, fmt.Errorf("forget: %w", err)
	}
	return out, nil
}

// ForgetSubject is that of the eraser, with suppression if it is asked for, of all
// episodes and facts of the subject.
func (x *Suppressor) ForgetSubject(ctx context.Context, caller events.Caller, key, subject, reason string, suppress bool) (tombstones.Erasure, error) {
	if suppress {
		err := x.keepOut(ctx, caller, tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: subject}, Reason: reason})
		if err != nil {
			return tombstones.Erasure{}, err
		}
	}
	out, err := x.eraser.ForgetSubject(ctx, caller, key, subject, reason)
	if err != nil {
		return tombstones.Erasure{}, fmt.Errorf("forget: %w", err)
	}
	return out, nil
}

func (x *Suppressor) keepOut(ctx context.Context, caller events.Caller, req tombstones.ForgetRequest) error {
	if !caller.Has(events.RoleAdmin) {
		return events.ErrForbidden
	}
	req.DryRun = true
	named, err := x.eraser.Forget(ctx, caller, "", req)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	tenant, err := x.s.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find tenant: %w", err)
	}
	state, err := x.s.views.Snapshot(ctx)
	if err != nil {
		return fmt.Errorf("open snapshot: %w", err)
	}
	position := state.Position()
	if err := state.Close(); err != nil {
		return fmt.Errorf("close snapshot: %w", err)
	}
	var values []string
	for _, id := range named.IDs {
		value, ok, err := x.value(ctx, caller, RecordRequest{ID: id, WaitFor: position})
		if err != nil {
			return err
		}
		if ok {
			values = append(values, value)
		}
	}
	if err := x.set.Add(ctx, tenant, token.Principal(tenant, caller.Principal), values); err != nil {
		return fmt.Errorf("keep out: %w", err)
	}
	return nil
}

// value reads a record as anyone who may does. One that is forgotten has none.
func (x *Suppressor) value(ctx context.Context, caller events.Caller, r RecordRequest) (string, bool, error) {
	e, err := x.s.Episode(ctx, caller, r)
	if err == nil {
		return e.Text, true, nil
	}
	if errors.Is(err, events.ErrNotFound) {
		var f FactAnswer
		if f, err = x.s.Fact(ctx, caller, r); err == nil {
			return suppression.Value(f.Predicate, f.Value), true, nil
		}
	}
	if errors.Is(err, events.ErrNotFound) || errors.Is(err, events.ErrForgotten) {
		return "", false, nil
	}
	return "", false, err
}
