package tombstones_test

import (
	"context"
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

// What comes by an external or tool channel forgets nothing, whatever its roles, nor
// does it change a consent or learn what would be forgotten; a user's channel does.
func TestForgetTrust(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	routes := map[string]func(ctx context.Context, c events.Caller, subject, id string) error{
		"record": func(ctx context.Context, c events.Caller, _, id string) error {
			_, err := n.ForgetRecord(ctx, c, "", events.KindEpisode, id)
			return err
		},
		"ids": func(ctx context.Context, c events.Caller, _, id string) error {
			_, err := n.Forget(ctx, c, "", tombstones.ForgetRequest{IDs: []string{id}})
			return err
		},
		"dry run": func(ctx context.Context, c events.Caller, _, id string) error {
			_, err := n.Forget(ctx, c, "", tombstones.ForgetRequest{IDs: []string{id}, DryRun: true})
			return err
		},
		"filter": func(ctx context.Context, c events.Caller, subject, _ string) error {
			_, err := n.Forget(ctx, c, "key", tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: subject}})
			return err
		},
		"subject": func(ctx context.Context, c events.Caller, subject, _ string) error {
			_, err := n.ForgetSubject(ctx, c, "", subject, "")
			return err
		},
		"withdraw": func(ctx context.Context, c events.Caller, subject, _ string) error {
			_, err := n.WithdrawConsent(ctx, c, subject, "health")
			return err
		},
		"grant": func(ctx context.Context, c events.Caller, subject, _ string) error {
			_, err := n.GrantConsent(ctx, c, subject, "health", "asked")
			return err
		},
	}
	for name, call := range routes {
		subject := "maria of " + name
		id := n.Tell(subject, "Maria swims.")
		caller := user("acme")
		caller.Roles = []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAuditor, events.RoleAdmin}
		for _, trust := range []events.Trust{0, events.TrustExternal, events.TrustTool} {
			caller.Trust = trust
			end := n.End()
			if err := call(t.Context(), caller, subject, id); !errors.Is(err, events.ErrForbidden) || n.End() != end || !n.lives(id) {
				t.Errorf("%s by trust %d: %v", name, trust, err)
			}
		}
		if name == "grant" { // which an agent's channel cannot either, though it can do the rest
			caller.Trust = events.TrustAgent
			if err := call(t.Context(), caller, subject, id); !errors.Is(err, events.ErrForbidden) {
				t.Errorf("%s by an agent: %v", name, err)
			}
		}
		caller.Trust = events.TrustUser
		end := n.End()
		if err := call(t.Context(), caller, subject, id); err != nil || (n.End() == end) != (name == "dry run") {
			t.Errorf("%s by a user: %v", name, err)
		}
	}
}
