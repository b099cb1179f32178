package query_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones/retention"
)

// settled says the same of every tenant.
type settled retention.UnsettledPeriods

func (s settled) UnsettledOf(context.Context, string) (retention.UnsettledPeriods, error) {
	return retention.UnsettledPeriods(s), nil
}

func unsettled(tb testing.TB, candidates, unreviewed, rejected string) retention.Unsettled {
	tb.Helper()
	var u retention.Unsettled
	for to, s := range map[*retention.Period]string{&u.Candidates: candidates, &u.Unreviewed: unreviewed, &u.Rejected: rejected} {
		p, ok := retention.ParsePeriod(s)
		if !ok {
			tb.Fatalf("%q is no period", s)
		}
		*to = p
	}
	return u
}

func (n *node) settler(s settled, schedule *retention.Schedule) *retention.Keeper {
	n.Helper()
	k, err := retention.New(retention.Config{
		Schedule: schedule, Settler: s, Memories: query.NewRetainedViews(n.Views), Keys: n.Keys, Log: n.Events, Eraser: n.Eraser,
		Now: n.Clock.Now, Interval: time.Hour,
	})
	must(n, err)
	return k
}

// what is proposed and is no fact ends by periods of its own, one for each
// way not to be one, while episodes and facts stay.
func TestWhatIsNoFactEnds(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.TellIn("acme", episode("maria", "She has a cat."))
	kept := n.Promoted(of("general", fact("maria", "city", `"Lima"`, day(1), source)))
	waits := n.doubt(of("general", fact("maria", "pet", `"a cat"`, day(1), source)))
	brief := n.doubt(of("brief", fact("maria", "badge", `"red"`, day(1), source)))
	rejected := n.doubt(of("general", fact("maria", "door", `"open"`, day(1), newID())))
	held := n.doubt(of("general", fact("pedro", "door", `"open"`, day(1), newID())))
	n.putHold("pedro")
	k := n.settler(settled{
		Default:    unsettled(t, "1d", "20d", "10d"),
		ByCategory: map[string]retention.Unsettled{"brief": unsettled(t, "keep", "2d", "keep")},
	}, nil)
	for _, step := range []struct {
		days   int
		erased int
		gone   []string
		left   []string
	}{
		{1, 0, nil, []string{brief, rejected, waits, held, kept, source}}, // they were decided on
		{1, 1, []string{brief}, []string{rejected, waits, held, kept, source}},
		{8, 1, []string{rejected}, []string{waits, held, kept, source}},
		{10, 1, []string{waits}, []string{held, kept, source}},
		{10_000, 0, nil, []string{held, kept, source}},
	} {
		n.Clock.Days(step.days)
		p, err := k.Preview(t.Context(), as(events.RoleAdmin), n.Clock.Now())
		must(t, err)
		if p.Total != step.erased || p.Scheduled {
			t.Errorf("the preview says %+v, want %d", p, step.erased)
		}
		n.pass(k, step.erased)
		for _, id := range step.gone {
			if !n.forgotten(id) {
				t.Errorf("%s is left", id)
			}
		}
		for _, id := range step.left {
			if n.forgotten(id) {
				t.Errorf("%s is gone", id)
			}
		}
	}
}

// Beside a schedule the shorter of two periods ends first, and is the one that a
// preview names.
func TestUnsettledBesideASchedule(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	source := n.TellIn("acme", episode("maria", "She has a cat."))
	n.doubt(of("profile", fact("maria", "pet", `"a cat"`, day(1), source)))
	n.doubt(of("support", fact("maria", "ticket", `"open"`, day(1), source)))
	s, err := retention.Parse([]byte(schedule))
	must(t, err)
	k := n.settler(settled{Default: unsettled(t, "keep", "20d", "keep")}, s)
	p, err := k.Preview(t.Context(), as(events.RoleAdmin), n.Clock.Now().AddDate(0, 0, 40))
	must(t, err)
	got := map[string]string{}
	for _, g := range p.Groups {
		got[g.Category+" "+g.Kind] = g.Period
	}
	want := map[string]string{"profile candidate": "10d", "support candidate": "30d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in 40 days (-want +got):\n%s", diff)
	}
	p, err = k.Preview(t.Context(), as(events.RoleAdmin), n.Clock.Now().AddDate(0, 0, 25))
	must(t, err)
	if p.Total != 2 || p.Groups[1].Period != "20d" {
		t.Errorf("in 25 days: %+v", p)
	}
}
