package tombstones_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// tellMany captures episodes of one session and source.
func (n *node) tellMany(session string, count int) []string {
	n.Helper()
	items := make([]producers.CaptureRequest, 0, count)
	for i := range count {
		r := episode("log", "entry "+name(i))
		r.Session, r.Source.Ref = session, session
		items = append(items, r)
	}
	ids := make([]string, 0, count)
	for chunk := range slices.Chunk(items, 1_000) {
		out, err := n.CaptureBatch(n.Context(), user("acme"), "", producers.CaptureBatchRequest{Items: chunk})
		must(n, err)
		for _, r := range out.Results {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// episodesLeft are the ids of all episodes that can be listed.
func (n *node) episodesLeft() []string {
	n.Helper()
	list, err := n.Episodes(n.Context(), user("acme"), query.EpisodesRequest{Subject: "log", WaitFor: n.End(), Limit: new(1000)})
	must(n, err)
	ids := make([]string, 0, len(list.Episodes))
	for _, e := range list.Episodes {
		ids = append(ids, e.ID)
	}
	slices.Sort(ids)
	return ids
}

// keyRows counts the rows of records.
func (n *node) keyRows() int {
	n.Helper()
	count := 0
	for _, err := range n.Rows.List(n.Context(), "k3."+n.token()) {
		must(n, err)
		count++
	}
	return count
}

// A large forget answers when nothing can be read any more, and the keys go
// afterwards; the same call, and one for a record of it, tell how far it is.
func TestLargeForget(t *testing.T) {
	t.Parallel()
	bySession := tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "gone"}}
	bySource := tombstones.ForgetRequest{Source: &events.Source{Kind: "chat", Ref: "gone"}}
	for what, tc := range map[string]struct {
		open  func(testing.TB) *node
		count int
		req   tombstones.ForgetRequest
	}{
		"server":                  {onNATS, 1_257, bySession},
		"one page by filter":      {inMemory, 1_000, bySession},
		"one more by filter":      {inMemory, 1_001, bySession},
		"one page by source":      {inMemory, 1_000, bySource},
		"one more by source":      {inMemory, 1_001, bySource},
		"the least that is large": {inMemory, 33, bySession},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := tc.open(t)
			kept := n.tellMany("kept", 3)
			rows := n.keyRows()
			gone := n.tellMany("gone", tc.count)
			first := n.forget("key", tc.req)
			if first.Matched != tc.count || first.Level != tombstones.LevelDenied || first.Position+1 != n.End() { // behind it is the account
				t.Fatalf("erasure %+v", first)
			}
			slices.Sort(kept)
			if diff := cmp.Diff(kept, n.episodesLeft()); diff != "" {
				t.Errorf("episodes that are left: %s", diff)
			}
			for _, i := range []int{0, tc.count / 2, tc.count - 1} {
				if n.lives(gone[i]) || n.keyless(gone[i]) {
					t.Errorf("episode %d is not denied alone", i)
				}
			}
			if diff := cmp.Diff(first, n.forget("key", tc.req)); diff != "" {
				t.Errorf("the same call again: %s", diff)
			}
			one, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, gone[1])
			must(t, err)
			if one.ErasureID != first.ErasureID || one.Matched != 1 || one.Level != tombstones.LevelDenied {
				t.Errorf("one of them: %+v", one)
			}

			n.Background(n.Run)
			must(t, n.WaitShredded(t.Context()))
			if got := n.keyRows(); got != rows+1 { // and that of the call
				t.Errorf("%d rows of records, want %d", got, rows+1)
			}
			for _, id := range kept {
				if !n.lives(id) || n.keyless(id) {
					t.Error("a neighbour is gone")
				}
			}
			first.Level, one.Level = tombstones.LevelShredded, tombstones.LevelShredded
			if diff := cmp.Diff(first, n.forget("key", tc.req)); diff != "" {
				t.Errorf("the same call afterwards: %s", diff)
			}
			oneAgain, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindEpisode, gone[1])
			must(t, err)
			if diff := cmp.Diff(one, oneAgain); diff != "" {
				t.Errorf("one of them afterwards: %s", diff)
			}
		})
	}
}

// A forget that is not large is over when it answers.
func TestLargestForgetThatIsNotLarge(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	rows := len(n.tellMany("kept", 3))
	gone := n.tellMany("gone", 32)
	out := n.forget("", tombstones.ForgetRequest{IDs: gone})
	if out.Matched != 32 || out.Level != tombstones.LevelShredded || n.keyRows()-rows > 2 { // subjects have rows too
		t.Errorf("erasure %+v, %d rows", out, n.keyRows())
	}
}

// What a large forget left when its process ended is finished at the next
// start, and by the same call there.
func TestLargeForgetCutOff(t *testing.T) {
	t.Parallel()
	for how, again := range map[string]func(*node, *tombstones.Eraser, tombstones.ForgetRequest){
		"the next start": func(n *node, next *tombstones.Eraser, _ tombstones.ForgetRequest) {
			must(n, next.Finish(n.Context()))
		},
		"the same call": func(n *node, next *tombstones.Eraser, r tombstones.ForgetRequest) {
			out, err := next.Forget(n.Context(), user("acme"), "key", r)
			must(n, err)
			if out.Level != tombstones.LevelDenied || out.Matched != 40 {
				n.Errorf("erasure %+v", out)
			}
			n.Background(next.Run)
			must(n, next.WaitShredded(n.Context()))
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			n := inMemory(t)
			kept, gone := n.tellMany("kept", 2), n.tellMany("gone", 40)
			r := tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "gone"}}
			n.forget("key", r)
			next, g := n.gated()
			close(g.open)
			again(n, next, r)
			for _, id := range gone {
				if !n.keyless(id) {
					t.Fatal("a key is left")
				}
			}
			if n.keyless(kept[0]) || n.keyless(kept[1]) {
				t.Error("a neighbour's key is gone")
			}
		})
	}
}

// Facts of many slots, and what is derived from many episodes, go together.
func TestLargeForgetOfFacts(t *testing.T) {
	t.Parallel()
	const many = 130
	for what, tc := range map[string]struct {
		req     tombstones.ForgetRequest
		matched int
	}{
		"facts":    {tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: "log", Kinds: []string{"fact"}}}, many + 1},
		"episodes": {tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "gone"}}, many},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			n := inMemory(t)
			kept := n.Promoted(fact("jonas", "sport", `"swimming"`, day(2), n.Tell("jonas", "Jonas swims.")))
			sources := n.tellMany("gone", many)
			more := n.Tell("log", "the other source")
			facts := make([]string, 0, many)
			for i, id := range sources {
				facts = append(facts, n.Promoted(fact("log", "p"+strconv.Itoa(i), `"`+name(i)+`"`, day(2), id)))
			}
			both := n.Promoted(fact("log", "both", `"x"`, day(2), sources[0], more))
			out := n.forget("", tc.req)
			if out.Matched != tc.matched || out.Level != tombstones.LevelDenied {
				t.Errorf("erasure %+v", out)
			}
			for _, id := range facts {
				if _, err := n.Fact(t.Context(), user("acme"), n.Get(id)); !errors.Is(err, events.ErrForgotten) {
					t.Fatalf("a forgotten fact: %v", err)
				}
			}
			n.Background(n.Run)
			must(t, n.WaitShredded(t.Context()))
			for _, id := range facts {
				if !n.keyless(id) {
					t.Fatal("the key of a fact is left")
				}
			}
			if got := n.keyless(both); got != (what == "facts") {
				t.Errorf("the fact of two sources: %v", got)
			}
			if n.keyless(kept) || n.keyless(more) {
				t.Error("a neighbour's key is gone")
			}
		})
	}
}

// One key that does not go holds up no other, and goes when it can.
func TestRunGoesOnWithoutOneKey(t *testing.T) {
	t.Parallel()
	n, rows, logged := stuck(t)
	gone := n.tellMany("gone", 40)
	later := n.tellMany("later", 40)
	rows.stick("k3." + n.token() + "." + gone[0])
	n.forget("", tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "gone"}})
	n.forget("", tombstones.ForgetRequest{Filter: &tombstones.Filter{Session: "later"}})
	n.Background(n.Run)
	for _, id := range slices.Concat(gone[1:], later) {
		n.until(func() bool { return n.keyless(id) })
	}
	if n.keyless(gone[0]) {
		t.Fatal("the key was not stuck")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.WaitShredded(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v", err)
	}
	rows.stick("")
	must(t, n.WaitShredded(t.Context()))
	if !n.keyless(gone[0]) {
		t.Error("the key is left")
	}
	// Whoever came to the key first says so: the queue, or the walk over the log.
	s := logged.text()
	if strings.Contains(s, "entry") || !strings.Contains(s, "keys=1") && !strings.Contains(s, "1 commits") {
		t.Errorf("logged %q", s)
	}
}
