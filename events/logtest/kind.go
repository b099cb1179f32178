package logtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
)

func testKind(t *testing.T, log events.Log) {
	t.Helper()
	var want []uint64
	for i := range 1_100 { // more than a page
		want = append(want, mustAppend(t, log, Episode("acme", fmt.Sprintf("e-%d", i), 16), events.ExpectNew))
		if i%100 == 0 { // Others lie between.
			mustAppend(t, log, Episode("other", fmt.Sprintf("e-%d", i), 16), events.ExpectNew)
			mustAppend(t, log, Vector("acme", fmt.Sprintf("v-%d", i)), events.ExpectAny)
		}
	}
	for _, cut := range []int{0, 1, 700, len(want)} {
		after := uint64(0)
		if cut > 0 {
			after = want[cut-1]
		}
		got := []uint64{}
		for m, err := range log.ReadKind(t.Context(), "acme", events.KindEpisode, after) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Position)
		}
		if diff := cmp.Diff(append([]uint64{}, want[cut:]...), got); diff != "" {
			t.Fatalf("above %d (-appended +read):\n%s", after, diff)
		}
	}
	for _, err := range log.ReadKind(t.Context(), "acme", events.KindFact, 0) {
		t.Fatalf("a kind of which there is nothing: %v", err)
	}
	for m, err := range log.ReadKind(t.Context(), "acme", events.KindEpisode, 0) {
		if err != nil || m.Position != want[0] {
			t.Fatalf("the first is at %d, %v", m.Position, err)
		}
		break // The reader may leave.
	}
	refused := false
	for _, err := range log.ReadKind(t.Context(), "*", events.KindEpisode, 0) {
		refused = errors.Is(err, events.ErrBadToken)
	}
	if !refused {
		t.Error("a tenant that is a wildcard was read")
	}
}
