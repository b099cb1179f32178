package projectors

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/fold"
)

// allReviews reads a list of reviews in small pages.
func allReviews(t fataler, list func(tenant, after string, limit int) ([]FactRow, string, error), tenant string) []string {
	t.Helper()
	var got []string
	for after, n := "", 0; n == 0 || after != ""; n++ {
		rows, next, err := list(tenant, after, 2)
		if err != nil {
			t.Fatalf("list reviews: %v", err)
		}
		for i := range rows {
			got = append(got, fmt.Sprintf("%020d %s", rows[i].ProposedAt, rows[i].Fact))
		}
		after = next
	}
	return got
}

// checkReviews holds that the queue is exactly what waits, in order, and that nothing that was reviewed is missing beside it.
func checkReviews(t fataler, s *Snapshot, m *fold.State) {
	t.Helper()
	for _, tenant := range tenantsIn(s) {
		var waiting, reviewed []string
		for k, f := range m.Facts {
			if k.Tenant != tenant || m.Masked(tenant, f) {
				continue
			}
			name := fmt.Sprintf("%020d %s", f.ProposedAt, f.Fact)
			asks := f.Decision.Decision == events.DecisionReview || f.Decision.Decision == events.DecisionQuarantine
			if asks && f.Status == events.StatusCandidate {
				waiting = append(waiting, name)
			}
			if asks || len(f.Reviews) > 0 {
				reviewed = append(reviewed, name)
			}
		}
		slices.Sort(waiting)
		if diff := cmp.Diff(waiting, allReviews(t, s.Reviews, tenant), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the queue differs (-model +view):\n%s", diff)
		}
		got := allReviews(t, s.Reviewed, tenant)
		if !slices.IsSorted(got) {
			t.Fatalf("reviews are out of order")
		}
		for _, name := range reviewed {
			if !slices.Contains(got, name) {
				t.Fatalf("a review is missing")
			}
		}
	}
}

// TestNoteOfReviewIsLeftOver holds that the sealed note of a review goes from the log with its candidate, also where what
// follows from the review is about other facts.
func TestNoteOfReviewIsLeftOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	p := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src)
	slot := w.slot(t, "acme", p.Subject, "city")
	w.append(t, "acme", events.KindFact, slot, p)
	w.append(t, "acme", events.KindFact, slot, events.FactDecided{Fact: p.Fact, Decision: events.DecisionReview})
	note := w.append(t, "acme", events.KindFact, slot,
		events.FactReviewed{Fact: p.Fact, Verdict: events.VerdictApprove, Content: []byte("sealed")})
	w.append(t, "acme", events.KindFact, slot,
		events.FactDecided{Fact: p.Fact, Decision: events.DecisionPromote, Into: p.Fact},
		events.FactPromoted{Fact: p.Fact, Valid: since(day(1))})
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	with(t, v.Views, func(s *Snapshot) {
		row, err := s.Fact(w.tenant(t, "acme").Token(), p.Fact)
		if err != nil || len(row.Reviews) != 1 || row.Reviews[0].Position != note || row.Status != events.StatusActive {
			t.Fatalf("%+v %v", row.Reviews, err)
		}
	})
	w.append(t, "acme", events.KindFact, slot, events.FactForgotten{Fact: p.Fact, Subject: p.Subject, Erasure: "erasure"})
	v.waitFor(t, w.head)
	found := false
	for l, err := range v.Leftovers(t.Context(), w.tenant(t, "acme").Token()) {
		if err != nil {
			t.Fatal(err)
		}
		found = found || l.Position == note && !l.Mixed
	}
	if !found {
		t.Error("the note stays in the log")
	}
	if n := rowsAbout(t, v.Views, Facts, p.Fact); n != 2 { // its tombstone, and what leads to that
		t.Errorf("%d rows are about a forgotten fact", n)
	}
}
