package projectors

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// TestParkedIsLeftOver holds that a tombstone reaches what could not be folded: what is damaged, what is behind it, and what
// comes after the tombstone; that what another version can read stays; and that what was parked is let go of when it is gone.
func TestParkedIsLeftOver(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		t.Run(map[bool]string{false: "record", true: "subject"}[whole], func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c, kept := w.capture(t, "acme", "anna", "cello"), w.capture(t, "acme", "ben", "oboe")
			damaged := make(map[uint64]string)
			again := func(c captured, subject, how string) uint64 {
				e, _ := w.episode(t, "acme", subject, c.id, "cello")
				at := w.append(t, "acme", events.KindEpisode, c.id, e)
				if how != "" {
					damaged[at] = how
				}
				return at
			}
			cut, behind, unknown := again(c, "anna", "cut"), again(c, "anna", ""), again(c, "anna", "type")
			other := again(kept, "ben", "cut")
			cfg := w.config(vfs.NewMem())
			cfg.Log = damagedLog{Follower: w.log, damage: func(m *events.Message) {
				switch damaged[m.Position] {
				case "cut":
					m.Data = m.Data[:len(m.Data)/2]
				case "type":
					m.Header.Types = []string{"annals.episode.captured.v9"}
					m.Data = bytes.ReplaceAll(m.Data, []byte(events.TypeEpisodeCaptured), []byte("annals.episode.captured.v9"))
				}
			}}
			if whole {
				w.forgetSubject(t, "acme", "anna")
			} else {
				w.forgetEpisode(t, c)
			}
			late := again(c, "anna", "cut")
			v := start(t, cfg)
			defer v.close(t)
			v.waitFor(t, w.head)
			if st := statusOf(t, v.Views, Memories); st.Parked != 5 {
				t.Errorf("parked %d", st.Parked)
			}
			left := make(map[uint64]bool)
			for l, err := range v.Leftovers(t.Context(), w.tenant(t, "acme").Token()) {
				if err != nil {
					t.Fatal(err)
				}
				left[l.Position] = l.Mixed
			}
			gone := []uint64{cut, behind}
			if !whole { // of a whole subject nothing is here that tells whose it is
				gone = append(gone, late)
			}
			for _, at := range gone {
				if mixed, ok := left[at]; !ok || mixed {
					t.Errorf("at %d: left over %v, mixed %v", at, ok, mixed)
				}
			}
			if mixed, ok := left[unknown]; !ok || !mixed {
				t.Errorf("what another version can read: left over %v, mixed %v", ok, mixed)
			}
			if _, ok := left[other]; ok {
				t.Error("control: a neighbour's is left over")
			}
			if err := v.Settle(t.Context(), func(p uint64) bool { return slices.Contains(gone, p) }); err != nil {
				t.Fatal(err)
			}
			if st := statusOf(t, v.Views, Memories); st.Parked != 5-uint64(len(gone)) {
				t.Errorf("parked %d when it is gone", st.Parked)
			}
		})
	}
}
