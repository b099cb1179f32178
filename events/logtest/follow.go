package logtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
)

// patience bounds what must happen soon.
const patience = 20 * time.Second

func testFollow(t *testing.T, log events.Log) {
	t.Helper()
	acks, err := log.AppendBatch(t.Context(), episodes("acme", 200))
	if err != nil {
		t.Fatal(err)
	}
	last := acks[len(acks)-1].Position
	for _, after := range []uint64{0, acks[0].Position, acks[99].Position, last - 1} {
		got := takeUntil(t, log, after, last)
		want := last - after
		if after < acks[0].Position {
			want = uint64(len(acks))
		}
		if uint64(len(got)) != want {
			t.Fatalf("%d messages above %d, want %d", len(got), after, want)
		}
		for i, m := range got {
			if m.Pending != uint64(len(got)-1-i) {
				t.Fatalf("%d are pending behind message %d of %d", m.Pending, i, len(got))
			}
			at, err := log.MessageAt(t.Context(), m.Position)
			if err != nil {
				t.Fatal(err)
			}
			at.Pending = m.Pending
			if diff := cmp.Diff(at, m); diff != "" {
				t.Fatalf("another message at %d (-read +followed):\n%s", m.Position, diff)
			}
		}
	}
}

// takeUntil follows up to the position and checks the order.
func takeUntil(t *testing.T, log events.Follower, after, last uint64) []events.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []events.Message
	position := after
	for m, err := range log.Follow(ctx, after) {
		if err != nil {
			t.Fatalf("follow from %d: %v", after, err)
		}
		if m.Position <= position {
			t.Fatalf("position %d after %d", m.Position, position)
		}
		position = m.Position
		if got = append(got, m); position >= last {
			break
		}
	}
	if position != last {
		t.Fatalf("followed to %d, want %d", position, last)
	}
	return got
}

func testFollowLive(t *testing.T, log events.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first := mustAppend(t, log, Episode("acme", "first", 1), events.ExpectNew)
	seen := make(chan events.Message)
	var all sync.WaitGroup
	all.Go(func() {
		defer close(seen)
		for m, err := range log.Follow(ctx, 0) {
			if err != nil {
				t.Errorf("follow: %v", err)
				return
			}
			seen <- m
		}
	})
	want := []uint64{first}
	var got []uint64
	for i := range 5 {
		m, ok := <-seen
		if !ok {
			t.Fatal("the follower ended")
		}
		// The follower has caught up and waits; the next append wakes it.
		got = append(got, m.Position)
		if m.Pending != 0 {
			t.Errorf("%d are pending at the end", m.Pending)
		}
		want = append(want, mustAppend(t, log, Episode("acme", fmt.Sprintf("live-%d", i), 1), events.ExpectNew))
	}
	if m, ok := <-seen; ok {
		got = append(got, m.Position)
	}
	cancel()
	all.Wait()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("followed (-appended +got):\n%s", diff)
	}
}

func testFollowers(t *testing.T, log events.Log) {
	t.Helper()
	const followers, n = 4, 300
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make([][]uint64, followers)
	var all sync.WaitGroup
	for i := range followers {
		all.Go(func() {
			for m, err := range log.Follow(ctx, 0) {
				if err != nil {
					t.Errorf("follower %d: %v", i, err)
					return
				}
				if got[i] = append(got[i], m.Position); len(got[i]) == n {
					return
				}
			}
		})
	}
	var want []uint64
	for i := range n {
		want = append(want, mustAppend(t, log, Episode("acme", fmt.Sprintf("e-%d", i), 20), events.ExpectNew))
	}
	all.Wait()
	for i := range followers {
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("follower %d (-appended +got):\n%s", i, diff)
		}
	}
}

func testFollowEnds(t *testing.T, log events.Log) {
	t.Helper()
	mustFill(t, log, Episode("acme", "e-1", 1), 10)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range log.Follow(ctx, 0) {
		if err != nil {
			t.Fatalf("the end of the context is an error: %v", err)
		}
		if n++; n == 5 {
			cancel()
		}
	}
	if n != 5 {
		t.Fatalf("%d messages, the context ended after 5", n)
	}
	for m, err := range log.Follow(ctx, 0) {
		t.Fatalf("position %d, %v under an ended context", m.Position, err)
	}
	waiting, stop := context.WithCancel(t.Context())
	defer stop()
	for m, err := range log.Follow(waiting, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Pending == 0 {
			go stop() // By then it waits, or is about to.
		}
	}
}

func testFollowOwnsData(t *testing.T, log events.Log) {
	t.Helper()
	p := mustAppend(t, log, Episode("acme", "e-1", 100), events.ExpectNew)
	spoiled := takeUntil(t, log, 0, p)[0]
	clear(spoiled.Data)
	clear(spoiled.Header.Types)
	for _, m := range takeUntil(t, log, 0, p) {
		if _, err := events.Decode(m); err != nil {
			t.Fatalf("a caller changed the log: %v", err)
		}
	}
}
