package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// GrantConsent writes down that a subject agreed to one category being kept, and on
// what basis. A subject that is unknown is known from then on. Granting what is
// granted again appends nothing, unless a basis is given. A channel below the trust of a
// user cannot grant, whatever its roles: an agent could else keep what its subject has
// said no to. The errors are ErrForbidden, an InputError, ErrForgotten for a subject that
// is being forgotten, ErrHeld for one that is kept under a hold after that, the log's, and
// the ledger's: after one of them the same call completes it.
func (g *Gateway) GrantConsent(ctx context.Context, caller events.Caller, subject, category, basis string) (Written, error) {
	if err := permit(caller, events.RoleAgent, events.RoleAdmin); err != nil {
		return Written{}, err
	}
	if caller.Trust < events.TrustUser {
		return Written{}, events.ErrForbidden
	}
	err := first(required("subject", subject), required("category", category), categoryName("category", category), text("basis", basis))
	if err != nil {
		return Written{}, err
	}
	t, err := g.tenant(ctx, caller.Tenant)
	if err != nil {
		return Written{}, err
	}
	principal := token.Principal(t, caller.Principal)
	for range maxTries {
		sid, err := t.SubjectID(ctx, subject, true)
		if errors.Is(err, seal.ErrUnknownSubject) {
			continue // dropped as soon as it was made
		}
		if err != nil {
			return Written{}, fmt.Errorf("find subject: %w", err)
		}
		s, err := events.ReadSubject(ctx, g.log, t.Token(), sid)
		if err != nil {
			return Written{}, fmt.Errorf("find subject: %w", err)
		}
		switch {
		case s.Erasure != "" && len(s.Holds) > 0:
			return Written{}, events.ErrHeld
		case s.Erasure != "":
			return Written{}, events.ErrForgotten
		case s.Position == 0: // after a restore a hold can be its first event
			if _, err := g.register(ctx, t, sid, subject, principal); err != nil {
				return Written{}, err
			}
			continue
		case s.Consents[token.Category(t, category)] && basis == "":
			return Written{Position: s.Position}, g.copyConsents(ctx, t.Token(), sid)
		}
		position, err := g.grant(ctx, t, sid, &s, events.ConsentContent{Category: category, Basis: basis}, principal)
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		if err != nil {
			return Written{}, err
		}
		return Written{Position: position}, g.copyConsents(ctx, t.Token(), sid)
	}
	return Written{}, fmt.Errorf("grant consent: %w", events.ErrConflict)
}

func (g *Gateway) grant(ctx context.Context, t *seal.Tenant, sid string, s *events.SubjectState, c events.ConsentContent, principal string) (uint64, error) {
	rec, err := g.newSubjectKey(ctx, t, sid)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return 0, events.ErrForgotten
	}
	if err != nil {
		return 0, err
	}
	content, err := sealContent(rec, events.KindSubject, events.TypeConsentGranted, c)
	if err != nil {
		return 0, err
	}
	ack, err := g.log.Append(ctx, events.Commit{
		ID: g.newID(), Aggregate: events.Aggregate{Tenant: t.Token(), Kind: events.KindSubject, ID: sid},
		Time: g.clock(), Principal: principal,
		Events: []events.Event{events.ConsentGranted{Category: token.Category(t, c.Category), Content: content}},
	}, events.Expect(s.Position))
	if err != nil {
		return 0, fmt.Errorf("grant consent: %w", err)
	}
	return ack.Position, nil
}

// copyConsents has the ledger know the consents of a subject: also those that were cut
// off before it did.
func (g *Gateway) copyConsents(ctx context.Context, tenant, sid string) error {
	if g.ledger == nil {
		return nil
	}
	var list []ledger.SubjectChange
	for r, err := range g.log.ReadAggregate(ctx, events.Aggregate{Tenant: tenant, Kind: events.KindSubject, ID: sid}, 0) {
		if err != nil {
			return fmt.Errorf("read consents: %w", err)
		}
		list = append(list, ledger.ChangesOf(r)...)
	}
	if err := g.ledger.RecordSubject(ctx, list); err != nil {
		return fmt.Errorf("copy consents: %w", err)
	}
	return nil
}
