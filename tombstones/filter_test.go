package tombstones_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/tombstones"
)

// 1,257 means 1,257: whoever captured or proposed, in which session and category,
// all of it and nothing else is forgotten. Each needs the machine for itself.
func TestForgetAllThatMatch(t *testing.T) { //nolint:tparallel // As said.
	t.Parallel()
	for what, tc := range map[string]struct { //nolint:paralleltest // As said.
		many   int
		filter tombstones.Filter
		scope  string
		mark   func(*producers.CaptureRequest, *events.Caller)
	}{
		"principal": {
			1_257,
			tombstones.Filter{Principal: "a bad agent"},
			"filter",
			func(_ *producers.CaptureRequest, c *events.Caller) { c.Principal = "a bad agent" },
		},
		"session": {
			57, tombstones.Filter{Session: "s1"}, "session", // TestLargeForget has many of one
			func(r *producers.CaptureRequest, _ *events.Caller) { r.Session = "s1" },
		},
		"category": {
			1_257,
			tombstones.Filter{Categories: []string{"health"}},
			"category",
			func(r *producers.CaptureRequest, _ *events.Caller) { r.Category = "health" },
		},
		"principal and category": {
			57,
			tombstones.Filter{Principal: "a bad agent", Categories: []string{"health"}},
			"filter",
			func(r *producers.CaptureRequest, c *events.Caller) { r.Category, c.Principal = "health", "a bad agent" },
		},
	} {
		t.Run(what, func(t *testing.T) {
			n := inMemory(t)
			tell := func(count int, marked bool) {
				t.Helper()
				caller := user("acme")
				items := make([]producers.CaptureRequest, count)
				for i := range items {
					items[i] = episode("subject "+name(i%7), "entry "+name(i))
					if marked {
						tc.mark(&items[i], &caller)
					}
				}
				for chunk := range slices.Chunk(items, 1_000) {
					out, err := n.CaptureBatch(t.Context(), caller, "", producers.CaptureBatchRequest{Items: chunk})
					must(t, err)
					for _, r := range out.Results {
						if r.Error != nil {
							t.Fatal(r.Error)
						}
					}
				}
			}
			tell(tc.many, true)
			tell(50, false)
			must(t, n.Views.WaitFor(t.Context(), n.End()))
			before := n.kept(7)
			out := n.forgetAtLast("key", tombstones.ForgetRequest{Filter: &tc.filter})
			if out.Matched != tc.many || before-n.kept(7) != tc.many || n.kept(7) != 50 {
				t.Errorf("%d matched, %d of %d are left", out.Matched, n.kept(7), before)
			}
			if s := n.status(out.ErasureID); s.Scope != tc.scope || s.Matched != tc.many {
				t.Errorf("account %+v", s)
			}
			if again := n.forgetAtLast("another", tombstones.ForgetRequest{Filter: &tc.filter}); again.Matched != 0 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// forgetAtLast repeats a call while the views do not get there in time, which a
// loaded machine takes.
func (n *node) forgetAtLast(key string, r tombstones.ForgetRequest) tombstones.Erasure {
	n.Helper()
	for {
		out, err := n.Forget(n.Context(), user("acme"), key, r)
		if !errors.Is(err, events.ErrBehind) {
			must(n, err)
			return out
		}
	}
}

// kept counts what is kept of the first subjects.
func (n *node) kept(subjects int) int {
	n.Helper()
	snap, err := n.Views.Snapshot(n.Context())
	must(n, err)
	defer func() { must(n, snap.Close()) }()
	total := 0
	for i := range subjects {
		sid, err := n.sid("subject " + name(i))
		must(n, err)
		episodes, facts := snap.SubjectCounts(n.token(), sid)
		total += episodes + facts
	}
	return total
}

// What one principal proposed is forgotten, what rests on its episodes too, and
// another's facts are not.
func TestForgetByPrincipalReachesFacts(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	bad := user("acme")
	bad.Principal = "a bad agent"
	shared := n.Tell("maria", "Maria plays the cello.")
	c, err := n.Capture(t.Context(), bad, "", episode("maria", "Maria plays the horn."))
	must(t, err)
	proposed, err := n.Propose(t.Context(), bad, "", fact("maria", "instrument", `"horn"`, day(2), shared))
	must(t, err)
	rests := n.Promoted(fact("maria", "sound", `"loud"`, day(3), c.ID))
	other := n.Promoted(fact("maria", "sport", `"swimming"`, day(3), shared))
	out := n.forget("", tombstones.ForgetRequest{Filter: &tombstones.Filter{Principal: "a bad agent"}})
	if out.Matched != 2 || out.Level != tombstones.LevelShredded {
		t.Errorf("erasure %+v", out)
	}
	for id, want := range map[string]bool{c.ID: true, proposed.CandidateID: true, rests: true, shared: false, other: false} {
		if n.keyless(id) != want {
			t.Errorf("%s is gone: %v", id, !want)
		}
	}
}
