package retention

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// Unsettled is how long what was proposed and is no fact is kept, from its
// proposal on.
type Unsettled struct {
	// Candidates were not decided on, Unreviewed wait for a review or are
	// quarantined, Rejected are what the word says.
	Candidates, Unreviewed, Rejected Period
}

// UnsettledPeriods are those of one tenant.
type UnsettledPeriods struct {
	// Default is for the categories that ByCategory, by name as
	// [token.CategoryName] has it, does not have.
	Default    Unsettled
	ByCategory map[string]Unsettled
}

// Settler tells how long tenants keep what is no fact. What it says holds beside a
// schedule: the shorter of two periods ends first.
type Settler interface {
	UnsettledOf(ctx context.Context, tenant string) (UnsettledPeriods, error)
}

func keepUnsettled() Unsettled { return Unsettled{Keep(), Keep(), Keep()} }

// of is the period of a candidate.
func (u Unsettled) of(m *Memory) Period {
	switch {
	case m.Status == events.StatusRejected:
		return u.Rejected
	case m.Waits:
		return u.Unreviewed
	}
	return u.Candidates
}

// rules are those of the schedule, if there is one, and of the tenant.
func (k *Keeper) rules(ctx context.Context, h token.Hasher, tenant string) (*rules, error) {
	schedule := k.c.Schedule
	if schedule == nil {
		schedule = &Schedule{Default: Keep(), ExpiryGrace: Keep()}
	}
	r := schedule.rules(h)
	r.unsettled, r.unsettledBy = keepUnsettled(), map[string]unsettledRule{}
	if k.c.Settler == nil {
		return r, nil
	}
	periods, err := k.c.Settler.UnsettledOf(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("read how long candidates are kept: %w", err)
	}
	r.unsettled = periods.Default
	for name, u := range periods.ByCategory {
		r.unsettledBy[token.Category(h, name)] = unsettledRule{u, name}
	}
	return r, nil
}

// unsettledRule is how long what is no fact of a category is kept.
type unsettledRule struct {
	Unsettled

	category string
}
