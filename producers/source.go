package producers

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// ReviseRequest says which revision of a source is the current one.
type ReviseRequest struct {
	// Source names no revision itself.
	Source   events.Source `json:"source"`
	Revision string        `json:"revision"`
	// EffectiveAt is since when it holds, not in the future; left out, since now.
	EffectiveAt *events.Time `json:"effective_at,omitempty"`
}

func (r ReviseRequest) validate(now time.Time) error {
	if err := source("source", r.Source); err != nil {
		return err
	}
	if r.Source.Revision != "" {
		return malformed("not_allowed", "source.revision", "must be given as revision")
	}
	return first(required("revision", r.Revision), trimmed("revision", r.Revision), past("effective_at", r.EffectiveAt, now))
}

// ReviseSource makes a revision of a source the current one. By that one commit
// everything that was taken from another revision is retired: no read shows it as
// current from the position of the answer on. What is captured later and names
// another revision is retired from the start. Going back to an earlier revision
// makes what was taken from that one current again.
//
// The revision that is current already is not written again, whatever its time:
// the answer is the position of the commit that made it so, and stays that under the
// same key, whatever is current by then. The caller needs a role
// of agent with at least a user's trust, of reviewer or of admin. The errors are
// ErrForbidden, an InputError, ErrKeyReused and the log's.
func (g *Gateway) ReviseSource(ctx context.Context, caller events.Caller, key string, r ReviseRequest) (Written, error) {
	now := g.clock()
	if err := permit(caller, events.RoleAgent, events.RoleReviewer, events.RoleAdmin); err != nil {
		return Written{}, err
	}
	if !caller.Has(events.RoleReviewer, events.RoleAdmin) && caller.Trust < events.TrustUser {
		return Written{}, events.ErrForbidden
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate(now)); err != nil {
		return Written{}, err
	}
	t, err := g.tenant(ctx, caller.Tenant)
	if err != nil {
		return Written{}, err
	}
	c := events.Commit{
		ID:        command{name: cmdRevise, principal: caller.Principal, key: key}.id(t, g.newID),
		Aggregate: events.Aggregate{Tenant: t.Token(), Kind: events.KindSource, ID: token.Source(t, r.Source)},
		Time:      now, Principal: token.Principal(t, caller.Principal),
	}
	revised := events.SourceRevised{
		Revision: token.Revision(t, r.Revision), EffectiveAt: events.Micro(r.EffectiveAt.Or(now)),
	}
	c.Events = []events.Event{revised}
	var said *alreadyCurrent
	if key != "" {
		if said, err = g.alreadyCurrent(ctx, t, c.ID, r); err != nil {
			return Written{}, err
		}
	}
	for range maxTries {
		state, before, err := g.revisions(ctx, &c)
		switch {
		case err != nil:
			return Written{}, err
		case before != nil:
			if before.Revision != revised.Revision || r.EffectiveAt != nil && !before.EffectiveAt.Equal(revised.EffectiveAt) {
				return Written{}, events.ErrKeyReused
			}
			return Written{Position: before.At}, nil
		case said != nil && said.position > 0:
			return Written{Position: said.position}, nil
		}
		if n := len(state.Revisions); n > 0 && state.Revisions[n-1].Revision == revised.Revision {
			position := state.Revisions[n-1].At
			if said != nil {
				position, err = said.keep(ctx, g.keys, position)
			}
			return Written{Position: position}, err
		}
		ack, err := g.log.Append(ctx, c, events.Expect(state.Position))
		switch {
		case err == nil && !ack.Duplicate:
			return Written{Position: ack.Position}, nil
		case err != nil && !errors.Is(err, events.ErrConflict):
			return Written{}, fmt.Errorf("append revision: %w", err)
		}
		runtime.Gosched()
	}
	return Written{}, fmt.Errorf("append revision: %w", events.ErrConflict)
}

// revisions folds the source that a commit is about, and finds what that very
// commit made of it if it is in the log already.
func (g *Gateway) revisions(ctx context.Context, c *events.Commit) (s events.SourceState, before *events.Revision, err error) {
	for r, err := range g.log.ReadAggregate(ctx, c.Aggregate, 0) {
		if err != nil {
			return s, nil, fmt.Errorf("read source: %w", err)
		}
		s.Apply(r)
		if r.ID == c.ID && len(s.Revisions) > 0 {
			made := s.Revisions[len(s.Revisions)-1]
			before = &made
		}
	}
	return s, before, nil
}
