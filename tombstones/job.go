package tombstones

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// job is one forget of one caller.
type job struct {
	// tenant is nil for one that nobody has written for: it has nothing.
	tenant    *seal.Tenant
	token     string
	principal string
	erasure   string
	// cause and scope are for the account; subject is that of a forget of a whole
	// one, or of a category of it.
	cause   events.Cause
	scope   string
	subject string
	keyed   bool
	// blind says that the caller is not shown what waits in quarantine.
	blind bool
	// fingerprint is that of the request; "" without an idempotency key.
	fingerprint string
	// plan is what the same call said before, nil if this is the first.
	plan *token.Plan
	// repeated says that the plan is not this call's own.
	repeated bool
	// upTo is the position up to which records can match.
	upTo uint64
}

// begin checks the caller and the key, and finds out whether this very call was
// made before.
func (e *Eraser) begin(ctx context.Context, caller events.Caller, key, command string, request any) (*job, error) {
	if !mayForget(caller) {
		return nil, events.ErrForbidden
	}
	if err := events.CheckIdempotencyKey(key); err != nil {
		return nil, err
	}
	tenant, err := e.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return &job{erasure: e.newID(), cause: events.CauseRequest}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find tenant: %w", err)
	}
	j := &job{
		tenant: tenant, token: tenant.Token(), principal: token.Principal(tenant, caller.Principal),
		cause: events.CauseRequest, scope: scopeRecord, blind: !caller.Has(events.RoleReviewer, events.RoleAdmin),
	}
	if key == "" {
		j.erasure = e.newID()
		return j, nil
	}
	j.keyed, j.erasure = true, token.Erasure(tenant, command, j.principal, key)
	if j.fingerprint, err = token.Fingerprint(tenant, request); err != nil {
		return nil, fmt.Errorf("compare request: %w", err)
	}
	rec, err := e.keys.Record(ctx, j.token, j.erasure)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find erasure: %w", err)
	}
	return j, j.adopt(rec)
}

// adopt takes over what an earlier call of the same key planned.
func (j *job) adopt(rec *seal.Record) error {
	n, err := token.ParseNote(rec.Note())
	if err != nil {
		return fmt.Errorf("read erasure: %w", err)
	}
	if n.Kind != events.KindErasure || n.Fingerprint != j.fingerprint {
		return events.ErrKeyReused
	}
	if n.Plan == nil {
		return fmt.Errorf("read erasure: %w", events.ErrCorrupt)
	}
	j.plan, j.repeated = n.Plan, true
	return nil
}

// claim writes the plan down before anything happens. Of several calls with the
// same key one wins and the others follow its plan.
func (j *job) claim(ctx context.Context, keys *seal.Keyring, p token.Plan) error {
	if !j.keyed || j.plan != nil {
		return nil
	}
	note, err := token.Note{
		Fingerprint: j.fingerprint, Kind: events.KindErasure, Aggregate: j.erasure, Plan: &p,
	}.Encode()
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	scope := seal.Scope{Tenant: j.token, Subject: seal.Nobody, Class: token.Category(j.tenant, string(events.KindErasure))}
	rec, existed, err := keys.CreateRecord(ctx, scope, j.erasure, note)
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	if existed {
		return j.adopt(rec)
	}
	j.plan = &p
	return nil
}

// commit is what this erasure makes of an aggregate after a position. A
// repetition makes it under the same id.
func (e *Eraser) commit(j *job, agg events.Aggregate, at uint64, list []events.Event) events.Commit {
	return events.Commit{
		ID: token.Tombstone(j.tenant, j.erasure, agg, at), Aggregate: agg, Time: events.Micro(e.now()),
		Principal: j.principal, Events: list,
	}
}
