package query

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// turn is a candidate of a session that happened at a second.
func turn(id, session string, second int64, relevance float64) ranked {
	return ranked{
		candidate: candidate{
			ID: id, session: session, observed: time.Unix(second, 0), Position: uint64(len(id)),
		},
		components: Components{Relevance: relevance},
	}
}

func relevances(list []ranked) map[string]float64 {
	out := make(map[string]float64, len(list))
	for i := range list {
		out[list[i].ID] = list[i].components.Relevance
	}
	return out
}

// The nearest found turns of the session lend, in the order in which they happened, and each by what it had itself.
func TestLend(t *testing.T) {
	t.Parallel()
	list := []ranked{
		turn("third", "s", 3, 0.2), turn("first", "s", 1, 0.5), turn("second", "s", 2, 0.4),
		turn("lone", "other", 2, 0.4), turn("fact", "", 2, 0.4), turn("fact2", "", 2, 0.4),
	}
	lend(list)
	const share = neighbourShare
	want := map[string]float64{
		"first":  1 - 0.5*(1-share*0.4),
		"second": 1 - 0.6*(1-share*0.5)*(1-share*0.2),
		"third":  1 - 0.8*(1-share*0.4),
		"lone":   0.4, "fact": 0.4, "fact2": 0.4,
	}
	if diff := cmp.Diff(want, relevances(list), cmpopts.EquateApprox(0, 1e-12)); diff != "" {
		t.Errorf("relevances (-want +got):\n%s", diff)
	}
	for i := range list {
		c := list[i].components.Context
		if lent := list[i].session == "s"; lent != (c != nil) {
			t.Errorf("%s: context is %v", list[i].ID, c)
		}
	}
	if got := *list[1].components.Context; math.Abs(got-(want["first"]-0.5)) > 1e-12 {
		t.Errorf("context is %v", got)
	}
}

// Whatever is found in whatever order: nothing loses, nothing leaves 0..1, sessions do not touch, and the order of arrival
// does not count.
func TestLendKeepsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := make([]ranked, rapid.IntRange(0, 12).Draw(t, "n"))
		for i := range list {
			list[i] = turn(fmt.Sprintf("id%02d", i), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "session"),
				rapid.Int64Range(0, 3).Draw(t, "second"), rapid.Float64Range(0, 1).Draw(t, "relevance"))
		}
		before := relevances(list)
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		var alone []ranked
		for i := range list {
			if list[i].session == "a" {
				alone = append(alone, list[i])
			}
		}
		lend(list)
		lend(shuffled)
		lend(alone)
		after := relevances(list)
		if diff := cmp.Diff(after, relevances(shuffled)); diff != "" {
			t.Fatalf("the order of arrival counts:\n%s", diff)
		}
		for id, r := range relevances(alone) {
			if after[id] != r {
				t.Fatalf("another session lent to %s", id)
			}
		}
		for id, r := range after {
			if !(r >= before[id] && r <= 1) {
				t.Fatalf("relevance of %s went from %v to %v", id, before[id], r)
			}
		}
	})
}

// BenchmarkLend is all that neighbours cost a recall: twice the depth of a channel is the most that is found.
func BenchmarkLend(b *testing.B) {
	list := make([]ranked, 2*firstDepth)
	for i := range list {
		list[i] = turn(fmt.Sprintf("01a22fa8-af3d-76b3-b907-%012d", i), fmt.Sprintf("s%02d", i%16), int64(i*7919%1000), 0.3)
	}
	for b.Loop() {
		for i := range list {
			list[i].components.Relevance = 0.3
		}
		lend(list)
	}
}
