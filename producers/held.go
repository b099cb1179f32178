package producers

import (
	"context"
	"fmt"

	"github.com/annals-memory/annals/events"
)

// unheld is events.ErrHeld while the log has a legal hold on a subject: then no fact
// of it may change. It is asked right before what would change one is appended; a
// hold that is put on at the same moment may come behind that.
func (g *Gateway) unheld(ctx context.Context, tenant, sid string) error {
	held, err := g.held(ctx, tenant, sid)
	if err == nil && held {
		err = events.ErrHeld
	}
	return err
}

func (g *Gateway) held(ctx context.Context, tenant, sid string) (bool, error) {
	s, err := events.ReadSubject(ctx, g.log, tenant, sid)
	if err != nil {
		return false, fmt.Errorf("look for holds: %w", err)
	}
	return len(s.Holds) > 0, nil
}

// reportable refuses a report on a trace of a held subject as a read of it is: it is
// not there.
func (g *Gateway) reportable(ctx context.Context, tenant, sid string) error {
	held, err := g.held(ctx, tenant, sid)
	if err == nil && held {
		err = events.ErrNotFound
	}
	return err
}

// destroyLost destroys the keys of facts that lost their last source, unless a legal
// hold keeps them: then they go with the rest of their erasure.
func (g *Gateway) destroyLost(ctx context.Context, p *proposal, list []events.Event) error {
	held, err := g.held(ctx, p.slot.aggregate.Tenant, p.candidate.Subject)
	if err != nil || held {
		return err
	}
	if err := g.keys.DestroyRecord(ctx, p.slot.aggregate.Tenant, forgottenIn(list)...); err != nil {
		return fmt.Errorf("destroy fact key: %w", err)
	}
	return nil
}
