package tombstones_test

import (
	"errors"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/internal/nodetest"
)

// A category that mixes scripts is refused where it is taken back as where it is
// granted; one that an earlier version let be granted can be taken back.
func TestWithdrawMixedScripts(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	n.Tell("maria", "Maria swims.")
	const odd = "h\u0435alth" // with a Cyrillic letter
	end := n.End()
	_, err := n.WithdrawConsent(t.Context(), user("acme"), "maria", odd)
	if e, ok := errors.AsType[*events.InputError](err); !ok || e.Code != "mixed_scripts" || e.Field != "category" || n.End() != end {
		t.Errorf("%v", err)
	}
	for _, plain := range []string{"health", "здоровье"} {
		if _, err := n.WithdrawConsent(t.Context(), user("acme"), "maria", plain); err != nil {
			t.Errorf("control: %s: %v", plain, err)
		}
	}
	tenant, err := n.Keys.Tenant(t.Context(), "acme", false)
	nodetest.Must(t, err)
	sid, err := tenant.FindSubject(t.Context(), "maria")
	nodetest.Must(t, err)
	about := events.Aggregate{Tenant: tenant.Token(), Kind: events.KindSubject, ID: sid}
	last, err := n.Events.Last(t.Context(), about)
	nodetest.Must(t, err)
	_, err = n.Events.Append(t.Context(), events.Commit{
		ID: nodetest.NewID(), Aggregate: about, Time: n.Clock.Now(),
		Events: []events.Event{events.ConsentGranted{Category: token.Category(tenant, odd), Content: []byte("sealed")}},
	}, events.Expect(last.Position))
	nodetest.Must(t, err)
	if _, err := n.WithdrawConsent(t.Context(), user("acme"), "maria", odd); err != nil {
		t.Errorf("what was granted once: %v", err)
	}
	s, err := events.ReadSubject(t.Context(), n.Events, tenant.Token(), sid)
	nodetest.Must(t, err)
	if s.Consents[token.Category(tenant, odd)] {
		t.Error("it is granted still")
	}
}
