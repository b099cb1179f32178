package tombstones_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/tombstones"
)

// An episode that waits in quarantine, or was dropped there, is there for no agent. The
// tombstone that others give it says whose it was, though its key is gone.
func TestForgetDropped(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	mail := user("acme")
	mail.Principal, mail.Trust = "mail", events.TrustExternal
	agent, admin := user("acme"), user("acme")
	agent.Roles, admin.Roles = []events.Role{events.RoleAgent}, []events.Role{events.RoleAdmin}
	for _, what := range []string{"waiting", "dropped", "expired", "its drop is on the way"} {
		c, err := n.Capture(t.Context(), mail, "", episode("maria", "Pay to account 7."))
		must(t, err)
		if c.Status != producers.StatusQuarantined {
			t.Fatalf("control: %+v", c)
		}
		agg := events.Aggregate{Tenant: n.token(), Kind: events.KindEpisode, ID: c.ID}
		last, err := n.Events.Last(t.Context(), agg)
		must(t, err)
		sid, err := n.sid("maria")
		must(t, err)
		if what == "dropped" || what == "expired" {
			_, err = n.Events.Append(t.Context(), events.Commit{
				ID: newID(), Aggregate: agg, Time: n.Clock.Now(),
				Events: []events.Event{events.EpisodeDropped{Subject: sid, Expired: what == "expired"}},
			}, events.Expect(last.Position))
			must(t, err)
		}
		if what != "waiting" {
			must(t, n.Keys.DestroyRecord(t.Context(), n.token(), c.ID))
		}
		end := n.End()
		_, one := n.ForgetRecord(t.Context(), agent, "", events.KindEpisode, c.ID)
		_, many := n.Forget(t.Context(), agent, "", tombstones.ForgetRequest{IDs: []string{c.ID}})
		if !errors.Is(one, events.ErrNotFound) || !errors.Is(many, events.ErrNotFound) || n.End() != end {
			t.Errorf("%s, for an agent: %v, %v", what, one, many)
		}
		if _, err = n.ForgetRecord(t.Context(), admin, "", events.KindEpisode, c.ID); err != nil {
			t.Errorf("%s, for an admin: %v", what, err)
		}
		last, err = n.Events.Last(t.Context(), agg)
		must(t, err)
		if f, ok := last.Events[0].(events.EpisodeForgotten); !ok || f.Subject != sid {
			t.Errorf("%s: the log says %+v", what, last.Events)
		}
	}
	must(t, n.Views.WaitFor(t.Context(), n.End()))
	for _, s := range n.Views.Status(t.Context()) {
		if !s.Healthy || s.Parked != 0 {
			t.Errorf("%s: healthy %v, %d parked", s.Projection, s.Healthy, s.Parked)
		}
		if v, err := n.Views.Verify(t.Context(), s.Projection, nil); err != nil || !v.OK {
			t.Errorf("verify %s: %+v %v", s.Projection, v, err)
		}
	}
}
