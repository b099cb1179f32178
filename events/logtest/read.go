package logtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
)

func testOneAmongMany(t *testing.T, log events.Log) {
	t.Helper()
	const others, own = 100, 10
	c := Episode("acme", "mine", 32)
	var positions []uint64
	last := uint64(0)
	for i := range others {
		mustAppend(t, log, Episode("acme", fmt.Sprintf("other-%d", i), 32), events.ExpectNew)
		if i%(others/own) == 0 {
			last = mustAppend(t, log, withID(c, fmt.Sprintf("own-%d", i)), events.Expect(last))
			positions = append(positions, last)
		}
	}
	for cut := range len(positions) + 1 {
		after := uint64(0)
		if cut > 0 {
			after = positions[cut-1]
		}
		got := positionsOf(collect(t, log.ReadAggregate(t.Context(), c.Aggregate, after)))
		if diff := cmp.Diff(append([]uint64{}, positions[cut:]...), got); diff != "" {
			t.Fatalf("above %d (-appended +read):\n%s", after, diff)
		}
	}
	if got := collect(t, log.ReadAggregate(t.Context(), c.Aggregate, 1<<40)); len(got) != 0 {
		t.Fatalf("%d commits above the end", len(got))
	}
	for r, err := range log.ReadAggregate(t.Context(), c.Aggregate, 0) {
		if err != nil || r.Position != positions[0] {
			t.Fatalf("the first is at %d, %v", r.Position, err)
		}
		break // The reader may leave.
	}
}

func testLongAggregate(t *testing.T, log events.Log) {
	t.Helper()
	const n = 2010
	c := Vector("acme", "v")
	var positions []uint64
	for i := range n {
		positions = append(positions, mustAppend(t, log, withID(c, fmt.Sprintf("v-%d", i)), events.ExpectAny))
		if i%50 == 0 { // Others lie between.
			mustAppend(t, log, Episode("acme", fmt.Sprintf("e-%d", i), 16), events.ExpectNew)
		}
	}
	for _, cut := range []int{0, 1000, 2001, n - 1, n} {
		after := uint64(0)
		if cut > 0 {
			after = positions[cut-1]
		}
		got := positionsOf(collect(t, log.ReadAggregate(t.Context(), c.Aggregate, after)))
		if diff := cmp.Diff(append([]uint64{}, positions[cut:]...), got); diff != "" {
			t.Fatalf("above the commit %d (-appended +read):\n%s", cut, diff)
		}
	}
}

func testReadYourWrites(t *testing.T, log events.Log) {
	t.Helper()
	const writers, rounds = 4, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			c := Episode("acme", fmt.Sprintf("e-%d", w), 200)
			last := uint64(0)
			for i := range rounds {
				ack, err := log.Append(t.Context(), withID(c, fmt.Sprintf("c-%d-%d", w, i)), events.Expect(last))
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				got, err := log.Last(t.Context(), c.Aggregate)
				if err != nil || got.Position != ack.Position {
					t.Errorf("the last commit is at %d, %v, after an ack at %d", got.Position, err, ack.Position)
					return
				}
				n := 0
				for r, err := range log.ReadAggregate(t.Context(), c.Aggregate, 0) {
					if err != nil {
						t.Errorf("read: %v", err)
						return
					}
					last = r.Position
					n++
				}
				if n != i+1 || last != ack.Position {
					t.Errorf("%d commits up to %d, after %d and an ack at %d", n, last, i+1, ack.Position)
					return
				}
			}
		})
	}
	all.Wait()
}

func testForeign(t *testing.T, log events.Log) {
	t.Helper()
	tenants := []string{"a", "a-b", "ab", "b"}
	for i, tenant := range tenants {
		for range i + 1 {
			c := Episode(tenant, "e", 1)
			last := events.ExpectNew
			if r, err := log.Last(t.Context(), c.Aggregate); err == nil {
				last = events.Expect(r.Position)
			}
			mustAppend(t, log, withID(c, fmt.Sprintf("%s-%d", tenant, last)), last)
		}
	}
	for i, tenant := range tenants {
		got := collect(t, log.ReadAggregate(t.Context(), Episode(tenant, "e", 1).Aggregate, 0))
		if len(got) != i+1 {
			t.Errorf("tenant %q has %d commits, want %d", tenant, len(got), i+1)
		}
		for _, r := range got {
			if r.Aggregate.Tenant != tenant {
				t.Errorf("tenant %q reads a commit of %q", tenant, r.Aggregate.Tenant)
			}
		}
	}
	for _, a := range []events.Aggregate{
		{Tenant: "a", Kind: events.KindFact, ID: "e"},
		{Tenant: "a", Kind: events.KindEpisode, ID: "e-"},
		{Tenant: "a-", Kind: events.KindEpisode, ID: "e"},
	} {
		if got := collect(t, log.ReadAggregate(t.Context(), a, 0)); len(got) != 0 {
			t.Errorf("%d commits of an aggregate that has none", len(got))
		}
		if _, err := log.Last(t.Context(), a); !errors.Is(err, events.ErrNoCommits) {
			t.Errorf("the last of none: %v, want ErrNoCommits", err)
		}
	}
	for m, err := range log.Follow(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		m.Subject = "annals.99.a.episode.e"
		if _, err := events.Decode(m); !errors.Is(err, events.ErrBadSubject) {
			t.Errorf("a message of a foreign shard decodes: %v", err)
		}
		break
	}
}

func testLast(t *testing.T, log events.Log) {
	t.Helper()
	c := Episode("acme", "e-1", 10)
	if _, err := log.Last(t.Context(), c.Aggregate); !errors.Is(err, events.ErrNoCommits) {
		t.Fatalf("the last of none: %v, want ErrNoCommits", err)
	}
	for i, p := range mustFill(t, log, c, 4) {
		got := collect(t, log.ReadAggregate(t.Context(), c.Aggregate, p-1))
		if len(got) != 4-i {
			t.Fatalf("%d commits above %d", len(got), p-1)
		}
		last, err := log.Last(t.Context(), c.Aggregate)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got[len(got)-1], last); diff != "" {
			t.Fatalf("the last commit (-read +last):\n%s", diff)
		}
	}
}

func testMessageAt(t *testing.T, log events.Log) {
	t.Helper()
	positions := mustFill(t, log, Episode("acme", "e-1", 10), 3)
	for i, p := range positions {
		m, err := log.MessageAt(t.Context(), p)
		if err != nil || m.Position != p || m.Header.ID != fmt.Sprintf("c-e-1-%d", i) {
			t.Errorf("position %d: a message at %d, %v", p, m.Position, err)
		}
		if r, err := events.Decode(m); err != nil || r.Position != p {
			t.Errorf("position %d: decode: %v", p, err)
		}
	}
	for _, p := range []uint64{0, positions[2] + 1, 1 << 60} {
		if _, err := log.MessageAt(t.Context(), p); !errors.Is(err, events.ErrNoCommits) {
			t.Errorf("position %d: %v, want ErrNoCommits", p, err)
		}
	}
}

func testState(t *testing.T, log events.Log) {
	t.Helper()
	empty := mustState(t, log)
	if empty.Identity == "" || empty.Messages != 0 || empty.Last != 0 || empty.Bytes != 0 {
		t.Fatalf("an empty log: %+v", empty)
	}
	positions := mustFill(t, log, Episode("acme", "e-1", 100), 3)
	s := mustState(t, log)
	if s.Identity != empty.Identity || s.First != positions[0] || s.Last != positions[2] || s.Messages != 3 || s.Bytes < 300 {
		t.Fatalf("after %v: %+v", positions, s)
	}
}
