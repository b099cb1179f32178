package projectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/fold"
)

// leftoversIn lists the leftovers of all tenants.
func leftoversIn(t fataler, v *Views) []Leftover {
	t.Helper()
	var list []Leftover
	seen := map[Leftover]bool{}
	for tenant, err := range v.LeftoverTenants(context.Background()) {
		if err != nil {
			t.Fatalf("tenants with leftovers: %v", err)
		}
		for left, err := range v.Leftovers(context.Background(), tenant) {
			if err != nil {
				t.Fatalf("leftovers: %v", err)
			}
			if seen[left] {
				t.Fatalf("a leftover is listed twice: %+v", left)
			}
			seen[left] = true
			list = append(list, left)
		}
	}
	slices.SortFunc(list, func(a, b Leftover) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Erasure, b.Erasure))
	})
	return list
}

// erasing is a history whose leftovers are deleted from the log on the way.
type erasing struct {
	*history
	// full is the fold of the log as if nothing had been deleted, up to folded.
	full   *fold.State
	folded uint64
	erased map[uint64]bool
}

// advance folds what came since.
func (h *erasing) advance() {
	for h.folded < h.w.head {
		h.folded++
		m, err := h.w.log.MessageAt(context.Background(), h.folded)
		if err != nil {
			h.Fatalf("read: %v", err)
		}
		rec, err := events.Decode(m)
		if err != nil {
			h.Fatalf("decode: %v", err)
		}
		h.full.Apply(rec)
	}
}

// erase deletes leftovers from the log, the last ones first, as far as a crash lets it.
func (h *erasing) erase(v *running) {
	h.advance()
	v.waitFor(h, h.w.head)
	var positions []uint64
	for _, left := range leftoversIn(h, v.Views) {
		if !left.Mixed && !h.erased[left.Position] {
			positions = append(positions, left.Position)
		}
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	slices.Reverse(positions)
	if len(positions) > 0 && rapid.IntRange(0, 3).Draw(h.T, "crash") == 0 {
		positions = positions[:rapid.IntRange(0, len(positions)).Draw(h.T, "deleted")]
	}
	h.delete(positions)
	if rapid.Bool().Draw(h.T, "settled") {
		h.settle(v)
	}
}

func (h *erasing) settle(v *running) {
	if err := v.Settle(context.Background(), func(p uint64) bool { return h.erased[p] }); err != nil {
		h.Fatalf("settle: %v", err)
	}
}

func (h *erasing) delete(positions []uint64) {
	if err := h.w.log.SecureDelete(context.Background(), positions...); err != nil {
		h.Fatalf("delete: %v", err)
	}
	for _, p := range positions {
		h.erased[p] = true
	}
	for a := range h.w.last {
		rec, err := h.w.log.Last(context.Background(), a)
		if err != nil && !errors.Is(err, events.ErrNoCommits) {
			h.Fatalf("last: %v", err)
		}
		h.w.last[a] = rec.Position
	}
}

// checkRest holds that the log has no sealed content of what is forgotten but in messages that are leftovers still.
func (h *erasing) checkRest(left []Leftover) {
	named := map[uint64]bool{}
	for _, l := range left {
		named[l.Position] = true
	}
	for p := uint64(1); p <= h.w.head; p++ {
		m, err := h.w.log.MessageAt(context.Background(), p)
		if err != nil {
			continue
		}
		rec, err := events.Decode(m)
		if err != nil {
			h.Fatalf("decode: %v", err)
		}
		for _, e := range rec.Events {
			if h.forgotten(&rec, e) && !named[p] {
				h.Fatalf("position %d holds content of what is forgotten: %T", p, e)
			}
		}
	}
}

// forgotten reports whether an event holds sealed content of something forgotten.
func (h *erasing) forgotten(r *events.Recorded, e events.Event) bool {
	t := r.Aggregate.Tenant
	gone := func(tombs map[fold.Key]fold.Tombstone, id string) bool {
		_, ok := tombs[fold.Key{Tenant: t, ID: id}]
		return ok
	}
	switch e := e.(type) {
	case events.EpisodeCaptured:
		return gone(h.full.Subjects, e.Subject) || gone(h.full.EpisodeTombs, r.Aggregate.ID)
	case events.FactProposed:
		return gone(h.full.Subjects, e.Subject) || gone(h.full.FactTombs, e.Fact)
	case events.FactRetracted: // it does not name its subject, so one that comes after that was forgotten is not known for it
		return gone(h.full.FactTombs, e.Fact)
	case events.VectorEmbedded:
		return gone(h.full.Subjects, e.Subject) || gone(h.full.EpisodeTombs, e.Record) || gone(h.full.FactTombs, e.Record)
	case events.TraceRecalled:
		return gone(h.full.Subjects, e.Subject)
	case events.SubjectRegistered, events.ConsentGranted:
		return gone(h.full.Subjects, r.Aggregate.ID)
	default:
		return false
	}
}

func recordDigests(v *Views) string {
	out := ""
	for _, st := range v.Status(context.Background()) {
		out += fmt.Sprintf("%s %d %s %d parked=%d\n", st.Projection, st.Position, st.Digest, st.Records, st.Parked)
	}
	return out
}

// TestErasedHistories holds that views which are built from a log after leftovers were deleted from it are equal to those
// that saw them, answer alike at all times of record, and know the same leftovers.
func TestErasedHistories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		h := &erasing{history: &history{T: t, w: w}, full: fold.New(), erased: map[uint64]bool{}}
		cfg := w.config(vfs.NewMem())
		cfg.quiet = time.Millisecond
		v := start(t, cfg)
		defer func() { v.close(t) }() // also where rapid gives a draw up
		for range rapid.IntRange(1, 40).Draw(t, "ops") {
			h.op()
			switch rapid.IntRange(0, 20).Draw(t, "event") {
			case 0:
				v.close(t)
				v = start(t, cfg)
			case 1, 2:
				h.erase(v)
			}
		}
		h.erase(v)
		h.settle(v)
		checkViews(t, v.Views, h.full)
		left := leftoversIn(t, v.Views)
		h.checkRest(left)

		cfg.FS = vfs.NewMem()
		cfg.Log = batching{Follower: w.log, seed: rapid.Uint64().Draw(t, "batching")}
		rebuilt := start(t, cfg)
		rebuilt.waitFor(t, w.head)
		checkViews(t, rebuilt.Views, h.full)
		if live, got := recordDigests(v.Views), recordDigests(rebuilt.Views); got != live {
			t.Fatalf("digests differ: live\n%srebuilt\n%s", live, got)
		}
		if diff := gocmp.Diff(left, leftoversIn(t, rebuilt.Views)); diff != "" {
			t.Fatalf("leftovers differ (-live +rebuilt):\n%s", diff)
		}
		rebuilt.close(t)
		name := rapid.SampledFrom([]string{Facts, Memories, Traces}).Draw(t, "verified")
		if res, err := v.Verify(context.Background(), name, nil); err != nil || !res.OK {
			t.Fatalf("verify %s: %v %+v", name, err, res)
		}
		if _, err := v.Replay(context.Background(), name, nil); err != nil {
			t.Fatalf("replay %s: %v", name, err)
		}
		checkViews(t, v.Views, h.full)
	})
}
