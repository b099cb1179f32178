package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
)

type tokenCmd struct {
	Tenant  string        `help:"Tenant." default:"local"`
	Roles   []string      `help:"Roles: agent, reviewer, auditor, admin." default:"agent"`
	Trust   string        `help:"Trust of the channel: external, tool, agent, user, human_verified, system." default:"user"`
	Subject string        `help:"Principal: who acts; by default cli, and cli-ROLES for other roles than agent."`
	TTL     time.Duration `help:"How long it holds." default:"1h"`
}

// Run prints a token; a server on the same directory accepts it, also while it
// runs.
func (k tokenCmd) Run(_ context.Context, c *cli, t terminal) error {
	trust, err := events.ParseTrust(k.Trust)
	if err != nil {
		return fmt.Errorf("%w: --trust %q is none of the trusts", errMisuse, k.Trust)
	}
	if k.TTL <= 0 {
		return fmt.Errorf("%w: --ttl must be above zero", errMisuse)
	}
	caller := events.Caller{Tenant: k.Tenant, Principal: cmp.Or(k.Subject, defaultPrincipal(k.Roles)), Trust: trust}
	for _, r := range k.Roles {
		caller.Roles = append(caller.Roles, events.Role(r))
	}
	a, err := node.OpenAuthority(c.Data, time.Now)
	if err != nil {
		return fmt.Errorf("open keys: %w", err)
	}
	token, err := a.Issue(caller, k.TTL)
	if err != nil {
		return fmt.Errorf("%w: %w", errMisuse, err)
	}
	if c.JSON {
		return printJSON(t, map[string]string{"token": token})
	}
	return say(t, "%s\n", token)
}

// defaultPrincipal is another one for other roles: who proposes does not review,
// and must not be taken for who does.
func defaultPrincipal(roles []string) string {
	if slices.Equal(roles, []string{string(events.RoleAgent)}) {
		return "cli"
	}
	sorted := slices.Sorted(slices.Values(roles))
	return "cli-" + strings.Join(slices.Compact(sorted), "-")
}
