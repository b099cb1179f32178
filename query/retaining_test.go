package query_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/retention"
)

const schedule = `
version: 1
default: keep
expiry_grace: 5d
categories:
  support: {episodes: 90d, facts: 2y, candidates: 30d}
  profile: {candidates: 10d}
`

func (n *node) keeper(file string, now func() time.Time) *retention.Keeper {
	n.Helper()
	s, err := retention.Parse([]byte(file))
	must(n, err)
	k, err := retention.New(retention.Config{
		Schedule: s, Memories: query.NewRetainedViews(n.Views), Keys: n.Keys, Log: n.Events, Eraser: n.Eraser, Now: now,
		Interval: 10 * time.Minute, Logger: slog.New(slog.DiscardHandler),
	})
	must(n, err)
	return k
}

func in(category string, r producers.CaptureRequest) producers.CaptureRequest {
	r.Category = category
	return r
}

func of(category string, r producers.ProposeRequest) producers.ProposeRequest {
	r.Category = category
	return r
}

// doubt proposes a fact that is not promoted.
func (n *node) doubt(r producers.ProposeRequest) string {
	n.Helper()
	r.Confidence = new(0.1)
	p, err := n.Propose(n.Context(), user("acme"), "", r)
	must(n, err)
	if p.Decision == events.DecisionPromote {
		n.Fatal("it is promoted")
	}
	return p.CandidateID
}

func (n *node) pass(k *retention.Keeper, want int) {
	n.Helper()
	got, err := k.Pass(n.Context())
	must(n, err)
	if got != want {
		n.Errorf("erased %d, want %d", got, want)
	}
}

// forgotten reports whether a record is forgotten, also one under a hold.
func (n *node) forgotten(id string) bool {
	n.Helper()
	must(n, n.Views.WaitFor(n.Context(), n.End()))
	snap, err := n.Views.Snapshot(n.Context())
	must(n, err)
	defer snap.Close() //nolint:errcheck // A snapshot that was only read has nothing to lose.
	e, err := snap.Episode(n.tenantToken(), id)
	if err == nil {
		return e.Forgotten
	}
	f, err := snap.Fact(n.tenantToken(), id)
	must(n, err)
	return f.Status == events.StatusDeleted
}

func TestRetention(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	k := n.keeper(schedule, n.Clock.Now)
	old := n.TellIn("acme", in("support", episode("maria", "a ticket")))
	rests := n.Promoted(of("profile", fact("maria", "ticket", `"open"`, day(1), old)))
	kept := n.TellIn("acme", in("other", episode("maria", "a note")))
	other := n.TellIn("other", in("support", episode("maria", "their ticket")))
	held := n.TellIn("acme", in("support", episode("pedro", "a ticket under a hold")))
	n.putHold("pedro")
	source := n.TellIn("acme", in("profile", episode("maria", "a profile")))
	long := n.Promoted(of("support", fact("maria", "city", `"Lima"`, day(1), source)))
	candidate := n.doubt(of("profile", fact("maria", "pet", `"a cat"`, day(1), source)))
	later := n.Clock.Now().AddDate(0, 2, 0)
	ends := of("general", fact("maria", "badge", `"red"`, day(1), source))
	ends.ExpiresAt = at(later)
	expiring := n.Promoted(ends)
	groups := func(when time.Time) []retention.Group {
		t.Helper()
		before := n.End()
		p, err := k.Preview(t.Context(), as(events.RoleAdmin), when)
		must(t, err)
		if n.End() != before {
			t.Error("a preview has written")
		}
		return p.Groups
	}
	now := n.Clock.Now()
	if g := groups(now); len(g) != 0 {
		t.Errorf("over at once: %+v", g)
	}
	n.pass(k, 0)
	want := []retention.Group{
		{Kind: "fact", Cause: "expiry", Period: "5d", Count: 1, IDs: []string{expiring}},
		{Category: "profile", Kind: "candidate", Cause: "retention", Period: "10d", Count: 1, IDs: []string{candidate}},
		{Category: "profile", Kind: "fact", Cause: "derived", Count: 1, IDs: []string{rests}},
		{Category: "support", Kind: "episode", Cause: "retention", Period: "90d", Count: 1, Held: 1, IDs: []string{old}},
	}
	if diff := cmp.Diff(want, groups(now.AddDate(0, 0, 91)), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	n.Clock.Days(11)
	n.pass(k, 1)
	if !n.forgotten(candidate) || n.forgotten(old) || n.forgotten(expiring) {
		t.Error("after 11 days more or less than the candidate is gone")
	}
	n.Clock.Days(50) // the grace is not over
	n.pass(k, 0)
	n.Clock.Days(6)
	n.pass(k, 1)
	if !n.forgotten(expiring) {
		t.Error("what expired is there behind its grace")
	}
	n.Clock.Days(25)
	n.pass(k, 2) // one of each tenant
	for id, want := range map[string]bool{old: true, rests: true, kept: false, held: false, source: false, long: false} {
		if n.forgotten(id) != want {
			t.Errorf("%s is gone: %v", id, !want)
		}
	}
	if _, err := n.Episode(t.Context(), user("other"), n.Get(other)); !errors.Is(err, events.ErrForgotten) {
		t.Errorf("the other tenant's: %v", err)
	}
	n.pass(k, 0)
	n.liftHold("pedro")
	n.pass(k, 1)
	n.Clock.Days(366)
	n.Promoted(of("support", fact("maria", "city", `"Lima"`, day(2), source))) // confirmed
	n.Clock.Days(366)
	n.pass(k, 0)
	if n.forgotten(long) {
		t.Error("a fact that was confirmed is gone")
	}
	n.Clock.Days(366)
	n.pass(k, 1)
	if !n.forgotten(long) || n.forgotten(kept) {
		t.Error("after two years without a confirmation")
	}
}

// holding is an eraser that puts a hold on a subject before it ends anything.
type holding struct {
	*tombstones.Eraser

	hold func()
}

func (h *holding) ForgetDue(ctx context.Context, tenant string, cause events.Cause, ids []string) (tombstones.Erasure, error) {
	done, err := h.Eraser.ForgetDue(ctx, tenant, cause, ids)
	h.hold()
	return done, err
}

// A hold that is put while a pass is on its way keeps what is left of the subject.
func TestRetentionHeldMeanwhile(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	first := n.TellIn("acme", in("support", episode("pedro", "the first ticket")))
	batch := producers.CaptureBatchRequest{}
	for range retention.MaxBatch {
		batch.Items = append(batch.Items, in("support", episode("maria", "a ticket")))
	}
	_, err := n.CaptureBatch(t.Context(), user("acme"), "", batch)
	must(t, err)
	last := n.TellIn("acme", in("support", episode("pedro", "the last ticket")))
	s, err := retention.Parse([]byte(schedule))
	must(t, err)
	k, err := retention.New(retention.Config{
		Schedule: s, Memories: query.NewRetainedViews(n.Views), Keys: n.Keys, Log: n.Events, Now: n.Clock.Now,
		Eraser: &holding{n.Eraser, sync.OnceFunc(func() { n.putHold("pedro") })},
	})
	must(t, err)
	n.Clock.Days(91)
	n.pass(k, retention.MaxBatch+1)
	if !n.forgotten(first) || n.forgotten(last) {
		t.Errorf("before the hold: %v, after it: %v", n.forgotten(first), n.forgotten(last))
	}
}

func TestRetentionPreviewIsForAdmins(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	for _, role := range []events.Role{events.RoleAgent, events.RoleReviewer, events.RoleAuditor} {
		if _, err := n.keeper(schedule, n.Clock.Now).Preview(t.Context(), as(role), n.Clock.Now()); !errors.Is(err, events.ErrForbidden) {
			t.Errorf("%s: %v", role, err)
		}
	}
	p, err := n.keeper(schedule, n.Clock.Now).Preview(t.Context(), as(events.RoleAdmin), n.Clock.Now())
	if err != nil || !p.Scheduled || p.Total != 0 {
		t.Errorf("control: %+v, %v", p, err)
	}
}

// change appends events to a subject of the tenant acme.
func (n *node) change(name string, list ...events.Event) {
	n.Helper()
	agg := events.Aggregate{Tenant: n.tenantToken(), Kind: events.KindSubject, ID: n.subject(name)}
	state, err := events.ReadSubject(n.Context(), n.Events, agg.Tenant, agg.ID)
	must(n, err)
	_, err = n.Events.Append(n.Context(), events.Commit{
		ID: newID(), Aggregate: agg, Time: n.Clock.Now(), Events: list,
	}, events.Expect(state.Position))
	must(n, err)
}

func (n *node) putHold(subject string)  { n.change(subject, events.SubjectHeld{Hold: "case-7"}) }
func (n *node) liftHold(subject string) { n.change(subject, events.SubjectReleased{Hold: "case-7"}) }

// pass lets time pass in a bubble of testing/synctest, where that takes none.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // It is the bubble's time, which passes once everything in it waits.
}

// More than one batch, on the real log, by a clock that can be moved.
func TestRetentionRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := onNATS(t, nil)
		n.Background(n.keeper("version: 1\ndefault: keep\ncategories:\n  support: {episodes: 2h}\n", time.Now).Run)
		const many = retention.MaxBatch + 50
		batch := producers.CaptureBatchRequest{}
		for range many {
			batch.Items = append(batch.Items, in("support", episode("maria", "a ticket")))
		}
		_, err := n.CaptureBatch(t.Context(), user("acme"), "", batch)
		must(t, err)
		kept := n.TellIn("acme", in("other", episode("maria", "a note")))
		left := func() int {
			r := query.EpisodesRequest{Subject: "maria", Limit: new(1000), WaitFor: n.End()}
			list, err := n.Episodes(t.Context(), as(events.RoleAdmin), r)
			must(t, err)
			return len(list.Episodes)
		}
		pass(110 * time.Minute)
		synctest.Wait()
		if got := left(); got != many+1 {
			t.Errorf("before two hours are over %d are left", got)
		}
		pass(20 * time.Minute)
		synctest.Wait()
		if got := left(); got != 1 || n.forgotten(kept) {
			t.Errorf("after two hours %d are left", got)
		}
	})
}
