package producers

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// GrantConsent writes down that a subject agreed to one category being kept, and on
// what basis. A subject that is unknown is known from then on. Granting what is
// granted again appends nothing, unless a basis is given. The errors are
// ErrForbidden, an InputError, ErrForgotten for a subject that is being forgotten or
// kept under a hold after that, and the log's.
func (g *Gateway) GrantConsent(ctx context.Context, caller events.Caller, subject, category, basis string) (Written, error) {
	if err := permit(caller, events.RoleAgent, events.RoleAdmin); err != nil {
		return Written{}, err
	}
	err := first(required("subject", subject), required("category", category), text("basis", basis))
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
		case s.Erasure != "":
			return Written{}, events.ErrForgotten
		case !s.Registered:
			if _, err := g.register(ctx, t, sid, subject, principal); err != nil {
				return Written{}, err
			}
			continue
		case s.Consents[token.Category(t, category)] && basis == "":
			return Written{Position: s.Position}, nil
		}
		position, err := g.grant(ctx, t, sid, &s, events.ConsentContent{Category: category, Basis: basis}, principal)
		if errors.Is(err, events.ErrConflict) {
			continue
		}
		return Written{Position: position}, err
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
