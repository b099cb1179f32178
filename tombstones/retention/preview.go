package retention

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// maxIDs is the most ids that a preview lists of each group.
const maxIDs = 100

// Preview is what a run at a time would end, were nothing to change until then.
type Preview struct {
	At events.Time `json:"at"`
	// Scheduled is false where there is no schedule: episodes and facts are kept then.
	Scheduled bool    `json:"scheduled"`
	Total     int     `json:"total"`
	Groups    []Group `json:"groups"`
}

// Group is what is over for one reason.
type Group struct {
	// Category is empty for what the schedule's default is for.
	Category string `json:"category,omitempty"`
	// Kind is "episode", "fact" or "candidate".
	Kind string `json:"kind"`
	// Cause is "retention" or "expiry", or "derived" for facts that go because the
	// episodes they rest on do.
	Cause string `json:"cause"`
	// Period is how long the schedule keeps them; empty for what is derived.
	Period string `json:"period,omitempty"`
	Count  int    `json:"count"`
	// Held counts what is over too and kept for a legal hold.
	Held int `json:"held"`
	// IDs are the first of those counted.
	IDs []string `json:"ids"`
}

const causeDerived = "derived"

// Preview tells what a run at a time would end of the caller's tenant. It writes
// nothing. Its memory grows with the number of episodes that are over. The errors
// are ErrForbidden to who is no admin, ErrBehind, and the log's.
func (k *Keeper) Preview(ctx context.Context, caller events.Caller, at time.Time) (Preview, error) {
	if !caller.Has(events.RoleAdmin) {
		return Preview{}, events.ErrForbidden
	}
	p := Preview{At: events.At(at), Scheduled: k.c.Schedule != nil, Groups: []Group{}}
	if k.endsNothing() {
		return p, nil
	}
	t, err := k.c.Keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return p, nil
	}
	if err != nil {
		return Preview{}, fmt.Errorf("find tenant: %w", err)
	}
	if err := k.caughtUp(ctx); err != nil {
		return Preview{}, err
	}
	rules, err := k.rules(ctx, t, t.Token())
	if err != nil {
		return Preview{}, err
	}
	v := viewing{rules: rules, held: k.holds(t.Token()), groups: map[verdict]*Group{}, gone: map[string]bool{}}
	if err := k.walk(ctx, t.Token(), func(m *Memory) error { return v.see(ctx, m, at) }); err != nil {
		return Preview{}, err
	}
	for _, g := range v.groups {
		p.Groups, p.Total = append(p.Groups, *g), p.Total+g.Count
	}
	slices.SortFunc(p.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Period, b.Period))
	})
	return p, nil
}

// viewing is a preview on its way.
type viewing struct {
	rules  *rules
	held   *holds
	groups map[verdict]*Group
	// gone are the episodes that are over.
	gone map[string]bool
}

func (v *viewing) see(ctx context.Context, m *Memory, at time.Time) error {
	verdict := v.rules.judge(m, at)
	held := false
	switch {
	case verdict.due:
		var err error
		if held, err = v.held.has(ctx, m.Subject); err != nil {
			return err
		}
		if m.Kind == events.KindEpisode && !held {
			v.gone[m.ID] = true
		}
	case verdict.kind != kindEpisode && verdict.kind != "" && v.loses(m):
		verdict.cause = causeDerived
	default:
		return nil
	}
	g := v.groups[verdict]
	if g == nil {
		g = &Group{Category: verdict.category, Kind: verdict.kind, Cause: string(verdict.cause), Period: verdict.period, IDs: []string{}}
		v.groups[verdict] = g
	}
	if held {
		g.Held++
		return nil
	}
	g.Count++
	if len(g.IDs) < maxIDs {
		g.IDs = append(g.IDs, m.ID)
	}
	return nil
}

// loses reports whether all that a fact rests on is over.
func (v *viewing) loses(m *Memory) bool {
	return len(m.Sources) > 0 && !slices.ContainsFunc(m.Sources, func(id string) bool { return !v.gone[id] })
}
