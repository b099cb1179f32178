package tombstones_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
)

func (n *node) status(id string) tombstones.Status {
	n.Helper()
	s, err := n.Status(n.Context(), user("acme"), id)
	must(n, err)
	return s
}

// The account of an erasure tells what was asked and how far it is, to its own
// tenant alone.
func TestAccount(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *node{"memory": inMemory, "nats": onNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := open(t)
			id := n.Tell("maria", "Maria plays the cello.")
			n.Promoted(fact("maria", "instrument", `"cello"`, day(2), id))
			n.Tell("jonas", "Jonas swims.")
			n.TellIn("other", episode("x", "y"))
			one, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, id)
			must(t, err)
			whole, err := n.ForgetSubject(t.Context(), user("acme"), "", "jonas", "")
			must(t, err)
			filter := n.forget("k", tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "none"}})
			for _, tc := range []struct {
				out   tombstones.Erasure
				scope string
				keys  int
			}{{one, "record", 2}, {whole, "subject", 1}} {
				s := n.status(tc.out.ErasureID)
				if s.Level != tombstones.LevelShredded || s.Scope != tc.scope || s.Cause != events.CauseRequest ||
					s.Matched != tc.out.Matched || s.Position != tc.out.Position || s.RequestedAt.IsZero() {
					t.Errorf("%s: %+v", tc.scope, s)
				}
				if s.Levels[tombstones.LevelDenied].IsZero() || s.Levels[tombstones.LevelShredded].Before(s.Levels[tombstones.LevelDenied].Time) {
					t.Errorf("levels: %v", s.Levels)
				}
				if len(s.Stores) == 0 || s.Stores[0].Store != "keys" || s.Stores[0].Planned != tc.keys || s.Stores[0].Done != tc.keys {
					t.Errorf("%s: stores %+v", tc.scope, s.Stores)
				}
				for _, tenant := range []string{"other", "new"} {
					if _, err := n.Status(t.Context(), user(tenant), tc.out.ErasureID); !errors.Is(err, events.ErrNotFound) {
						t.Errorf("another tenant: %v", err)
					}
				}
			}
			for _, id := range []string{filter.ErasureID, newID(), "*", ""} {
				if _, err := n.Status(t.Context(), user("acme"), id); !errors.Is(err, events.ErrNotFound) {
					t.Errorf("nothing was matched: %v", err)
				}
			}
			reviewer := user("acme")
			reviewer.Roles = []events.Role{events.RoleReviewer}
			if _, err := n.Status(t.Context(), reviewer, one.ErasureID); !errors.Is(err, events.ErrForbidden) {
				t.Errorf("a reviewer: %v", err)
			}
		})
	}
}

// A process that ended before it began the account leaves it to the next one, and
// a repetition does not begin a second one.
func TestAccountCutOff(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	a, b := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims.")
	n.bury("maria", a)
	n.bury("maria", b)
	must(t, n.Finish(t.Context()))
	for _, id := range []string{a, b} {
		out, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, id)
		must(t, err)
		s := n.status(out.ErasureID)
		if s.Level != tombstones.LevelShredded || s.Matched != 1 || s.Position != out.Position || !n.keyless(id) {
			t.Errorf("account %+v of %+v", s, out)
		}
	}
	if got := n.count(events.TypeErasureRequested); got != 2 {
		t.Errorf("%d accounts", got)
	}
	must(t, n.Finish(t.Context()))
	if got := n.count(events.TypeErasureAdvanced); got != 4 { // denied; cascaded and shredded
		t.Errorf("%d advances", got)
	}
}
