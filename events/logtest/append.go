package logtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
)

const racers = 50

func testRoundTrip(t *testing.T, log events.Log) {
	t.Helper()
	c := Episode("acme", "e-1", 512)
	c.TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	c.Time = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
	p := mustAppend(t, log, c, events.ExpectNew)
	bare := Episode("acme", "e-2", 0)
	bare.Principal = ""
	mustAppend(t, log, bare, events.ExpectNew)
	for _, want := range []events.Commit{c, bare} {
		got := collect(t, log.ReadAggregate(t.Context(), want.Aggregate, 0))
		if len(got) != 1 {
			t.Fatalf("got %d commits, want 1", len(got))
		}
		if diff := cmp.Diff(want, got[0].Commit); diff != "" {
			t.Fatalf("the commit changed (-written +read):\n%s", diff)
		}
		if got[0].RecordedAt.IsZero() || got[0].RecordedAt.Location() != time.UTC {
			t.Fatalf("recorded at %v", got[0].RecordedAt)
		}
	}
	encoded, err := events.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := log.MessageAt(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(encoded.Header, m.Header); diff != "" {
		t.Fatalf("the header changed (-written +read):\n%s", diff)
	}
	if diff := cmp.Diff(encoded.Data, m.Data); diff != "" || m.Subject != encoded.Subject || m.Position != p {
		t.Fatalf("the message changed: %s at %d (-written +read):\n%s", m.Subject, m.Position, diff)
	}
}

func testManyEvents(t *testing.T, log events.Log) {
	t.Helper()
	c := Episode("acme", "e-1", 1)
	for len(c.Events) < events.MaxEvents {
		c.Events = append(c.Events, events.SubjectForgotten{Erasure: "x"})
	}
	mustAppend(t, log, c, events.ExpectNew)
	last, err := log.Last(t.Context(), c.Aggregate)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, last.Commit); diff != "" {
		t.Fatalf("the commit changed (-written +read):\n%s", diff)
	}
}

func testConflict(t *testing.T, log events.Log) {
	t.Helper()
	mustAppend(t, log, Episode("acme", "other", 1), events.ExpectNew)
	c := Episode("acme", "e-1", 1)
	wantConflict(t, log, c, 1, 0)
	positions := mustFill(t, log, c, 3)
	for _, wrong := range []uint64{0, positions[0], positions[1], positions[2] + 1, 1 << 40} {
		wantConflict(t, log, withID(c, "new"), events.Expect(wrong), positions[2])
	}
	mustAppend(t, log, withID(c, "new"), events.Expect(positions[2]))
}

func wantConflict(t *testing.T, log events.Log, c events.Commit, expect events.Expect, actual uint64) {
	t.Helper()
	_, err := log.Append(t.Context(), c, expect)
	isConflict(t, err, &events.ConflictError{Aggregate: c.Aggregate, Expected: expect, Actual: actual})
}

func isConflict(t *testing.T, err error, want *events.ConflictError) {
	t.Helper()
	var got *events.ConflictError
	if !errors.As(err, &got) || !errors.Is(err, events.ErrConflict) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("another conflict (-want +got):\n%s", diff)
	}
}

func testOneWinner(t *testing.T, log events.Log) {
	t.Helper()
	race(t, log, Episode("acme", "e-1", 100), events.ExpectNew)
}

func testOneSuccessor(t *testing.T, log events.Log) {
	t.Helper()
	c := Episode("acme", "e-1", 100)
	race(t, log, c, events.Expect(mustAppend(t, log, c, events.ExpectNew)))
}

// race lets many writers append different commits with one expectation: one
// wins, and the others are told where it is.
func race(t *testing.T, log events.Log, c events.Commit, expect events.Expect) {
	t.Helper()
	acks, errs := make([]events.Ack, racers), make([]error, racers)
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			acks[i], errs[i] = log.Append(t.Context(), withID(c, fmt.Sprintf("racer-%d", i)), expect)
		})
	}
	all.Wait()
	last, err := log.Last(t.Context(), c.Aggregate)
	if err != nil {
		t.Fatal(err)
	}
	winners := 0
	for i := range racers {
		if errs[i] == nil {
			winners++
			if acks[i].Position != last.Position || last.ID != fmt.Sprintf("racer-%d", i) {
				t.Errorf("the winner is at %d, the last commit at %d", acks[i].Position, last.Position)
			}
			continue
		}
		isConflict(t, errs[i], &events.ConflictError{Aggregate: c.Aggregate, Expected: expect, Actual: last.Position})
	}
	if winners != 1 {
		t.Fatalf("%d of %d writers won", winners, racers)
	}
}

func testRetry(t *testing.T, log events.Log) {
	t.Helper()
	c := Episode("acme", "e-1", 1)
	first := mustAppend(t, log, c, events.ExpectNew)
	wantDuplicate(t, log, c, events.ExpectNew, first)
	second := mustAppend(t, log, withID(c, "second"), events.Expect(first))
	wantDuplicate(t, log, withID(c, "second"), events.Expect(first), second)
	wantDuplicate(t, log, withID(c, "second"), events.Expect(second), second)
	if got := collect(t, log.ReadAggregate(t.Context(), c.Aggregate, 0)); len(got) != 2 {
		t.Fatalf("%d commits after retries, want 2", len(got))
	}
}

func wantDuplicate(t *testing.T, log events.Log, c events.Commit, expect events.Expect, at uint64) {
	t.Helper()
	ack, err := log.Append(t.Context(), c, expect)
	if err != nil || ack != (events.Ack{Position: at, Duplicate: true}) {
		t.Fatalf("a retry got %+v, %v, want a duplicate at %d", ack, err, at)
	}
}

func testRetryTooLate(t *testing.T, log events.Log) {
	t.Helper()
	c := Episode("acme", "e-1", 1)
	first := mustAppend(t, log, c, events.ExpectNew)
	second := mustAppend(t, log, withID(c, "second"), events.Expect(first))
	wantConflict(t, log, c, events.ExpectNew, second)
	// With the right expectation it is known for what it is.
	wantDuplicate(t, log, c, events.Expect(second), first)
}

func testSharedID(t *testing.T, log events.Log) {
	t.Helper()
	a, b, v := Episode("acme", "e-1", 1), Episode("other", "e-1", 1), Vector("acme", "e-1")
	for _, c := range []events.Commit{a, b, v} {
		expect := events.ExpectNew
		if c.Aggregate.Kind == events.KindVector {
			expect = events.ExpectAny
		}
		at := mustAppend(t, log, c, expect)
		wantDuplicate(t, log, c, expect, at)
		if last, err := log.Last(t.Context(), c.Aggregate); err != nil || last.Position != at {
			t.Fatalf("the last commit is at %d, %v, want %d", last.Position, err, at)
		}
	}
}

func testExpectAny(t *testing.T, log events.Log) {
	t.Helper()
	var positions []uint64
	for i := range 5 {
		positions = append(positions, mustAppend(t, log, Vector("acme", fmt.Sprintf("r-%d", i)), events.ExpectAny))
	}
	for i, p := range positions {
		wantDuplicate(t, log, Vector("acme", fmt.Sprintf("r-%d", i)), events.ExpectAny, p)
	}
	got := collect(t, log.ReadAggregate(t.Context(), Vector("acme", "x").Aggregate, 0))
	if diff := cmp.Diff(positions, positionsOf(got)); diff != "" {
		t.Fatalf("the commits (-appended +read):\n%s", diff)
	}
}

func testExpectAnyKinds(t *testing.T, log events.Log) {
	t.Helper()
	other := Episode("acme", "e-1", 1)
	if _, err := log.Append(t.Context(), other, events.ExpectAny); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("append: %v, want ErrInvalid", err)
	}
	batch := []events.Pending{
		{Commit: Vector("acme", "v"), Expect: events.ExpectAny}, {Commit: other, Expect: events.ExpectAny},
	}
	if _, err := log.AppendBatch(t.Context(), batch); !errors.Is(err, events.ErrInvalid) {
		t.Errorf("append batch: %v, want ErrInvalid", err)
	}
	if s := mustState(t, log); s.Messages != 0 {
		t.Errorf("refused appends left %d messages", s.Messages)
	}
	mustAppend(t, log, other, events.ExpectNew)
	trace := Vector("acme", "t")
	trace.Aggregate.Kind = events.KindTrace
	trace.Events = []events.Event{events.TraceUsed{Trace: "t", Memories: []string{"e-1"}}}
	batch[1].Commit = trace
	if acks, err := log.AppendBatch(t.Context(), batch); err != nil || len(acks) != len(batch) {
		t.Errorf("vectors and traces in a batch: %d acks, %v", len(acks), err)
	}
	mustAppend(t, log, withID(trace, "again"), events.ExpectAny)
}

func testTraceParent(t *testing.T, log events.Log) {
	t.Helper()
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for _, bad := range []string{
		"a name", good[:54], good + "0", strings.ToUpper(good), good[:54] + "\n", strings.ReplaceAll(good, "-", "0"),
		good[:54] + "-", good[:53] + "\r\n", strings.Repeat("x", len(good)),
	} {
		c := Episode("acme", "e-1", 1)
		c.TraceParent = bad
		if _, err := log.Append(t.Context(), c, events.ExpectNew); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("append with %q: %v, want ErrInvalid", bad, err)
		}
		if _, err := log.AppendBatch(t.Context(), []events.Pending{{Commit: c}}); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("append batch with %q: %v, want ErrInvalid", bad, err)
		}
	}
	for i, ok := range []string{"", good} {
		c := Episode("acme", fmt.Sprintf("good-%d", i), 1)
		c.TraceParent = ok
		mustAppend(t, log, c, events.ExpectNew)
	}
}

func testBatch(t *testing.T, log events.Log) {
	t.Helper()
	before := mustAppend(t, log, Episode("acme", "e-0", 1), events.ExpectNew)
	batch := episodes("acme", events.MaxBatch)
	batch[0].Expect = events.Expect(before)
	batch[7] = events.Pending{Commit: Vector("acme", "v"), Expect: events.ExpectAny}
	acks, err := log.AppendBatch(t.Context(), batch)
	if err != nil || len(acks) != len(batch) {
		t.Fatalf("append batch: %d acks, %v", len(acks), err)
	}
	for i, ack := range acks {
		if ack != (events.Ack{Position: before + 1 + uint64(i)}) {
			t.Fatalf("commit %d: %+v, the batch began after %d", i, ack, before)
		}
		if m, err := log.MessageAt(t.Context(), ack.Position); err != nil || m.Header.ID != batch[i].Commit.ID {
			t.Fatalf("commit %d is not at its position: %v", i, err)
		}
	}
	one := []events.Pending{{Commit: withID(batch[3].Commit, "one"), Expect: events.Expect(acks[3].Position)}}
	if acks, err = log.AppendBatch(t.Context(), one); err != nil || len(acks) != 1 {
		t.Fatalf("a batch of one: %d acks, %v", len(acks), err)
	}
	got := collect(t, log.ReadAggregate(t.Context(), one[0].Commit.Aggregate, 0))
	if len(got) != 2 || got[1].ID != "one" || got[1].Position != acks[0].Position {
		t.Fatalf("after a batch of one: %d commits", len(got))
	}
	if acks, err := log.AppendBatch(t.Context(), nil); err != nil || len(acks) != 0 {
		t.Fatalf("an empty batch: %d acks, %v", len(acks), err)
	}
}

// episodes are n new aggregates.
func episodes(tenant string, n int) []events.Pending {
	batch := make([]events.Pending, n)
	for i := range batch {
		batch[i].Commit = Episode(tenant, fmt.Sprintf("e-%d", i), 64)
	}
	return batch
}

func testBatchConflict(t *testing.T, log events.Log) {
	t.Helper()
	taken := Episode("acme", "e-5", 1)
	at := mustAppend(t, log, taken, events.ExpectNew)
	before := mustState(t, log)
	for _, batch := range [][]events.Pending{episodes("acme", 10), episodes("acme", 6), episodes("acme", 10)[5:6]} {
		_, err := log.AppendBatch(t.Context(), batch)
		isConflict(t, err, &events.ConflictError{Aggregate: taken.Aggregate, Actual: at})
	}
	if after := mustState(t, log); after != before {
		t.Fatalf("a refused batch changed the log from %+v to %+v", before, after)
	}
	batch := episodes("acme", 10)
	batch[5].Expect = events.Expect(at)
	if _, err := log.AppendBatch(t.Context(), batch); err != nil {
		t.Fatalf("the batch with the right expectation: %v", err)
	}
}

func testBatchRace(t *testing.T, log events.Log) {
	t.Helper()
	const rivals, size = 8, 20
	errs := make([]error, rivals)
	var all sync.WaitGroup
	for i := range rivals {
		all.Go(func() {
			batch := episodes("acme", size)
			for j := range batch {
				batch[j].Commit.ID = fmt.Sprintf("rival-%d", i)
			}
			_, errs[i] = log.AppendBatch(t.Context(), batch)
		})
	}
	all.Wait()
	winner := ""
	for i, err := range errs {
		switch {
		case err == nil && winner == "":
			winner = fmt.Sprintf("rival-%d", i)
		case err == nil:
			t.Fatal("two rival batches won")
		case !errors.Is(err, events.ErrConflict):
			t.Fatalf("rival %d: %v", i, err)
		}
	}
	for _, p := range episodes("acme", size) {
		if last, err := log.Last(t.Context(), p.Commit.Aggregate); err != nil || last.ID != winner {
			t.Fatalf("a commit of %q, %v, where %q won", last.ID, err, winner)
		}
	}
	if s := mustState(t, log); s.Messages != size {
		t.Fatalf("%d messages after one batch of %d", s.Messages, size)
	}
}

func testBatchLimits(t *testing.T, log events.Log) {
	t.Helper()
	twice := episodes("acme", 3)
	twice[2] = events.Pending{Commit: withID(twice[0].Commit, "again")}
	empty := episodes("acme", 3)
	empty[1].Commit.Events = nil
	for name, batch := range map[string][]events.Pending{
		"one too many":        episodes("acme", events.MaxBatch+1),
		"an aggregate twice":  twice,
		"a commit of nothing": empty,
	} {
		if _, err := log.AppendBatch(t.Context(), batch); !errors.Is(err, events.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	large := episodes("acme", 3)
	large[2].Commit = Episode("acme", "large", 8<<20)
	if _, err := log.AppendBatch(t.Context(), large); !errors.Is(err, events.ErrTooLarge) {
		t.Errorf("a large commit in a batch: %v, want ErrTooLarge", err)
	}
	if s := mustState(t, log); s.Messages != 0 {
		t.Errorf("refused batches left %d messages", s.Messages)
	}
}

func testTooLarge(t *testing.T, log events.Log) {
	t.Helper()
	if _, err := log.Append(t.Context(), Episode("acme", "e-1", 8<<20), events.ExpectNew); !errors.Is(err, events.ErrTooLarge) {
		t.Fatalf("got %v, want ErrTooLarge", err)
	}
	c := Episode("acme", "e-1", 5<<20)
	mustAppend(t, log, c, events.ExpectNew)
	last, err := log.Last(t.Context(), c.Aggregate)
	if err != nil {
		t.Fatalf("a commit of 5 MB is not read back: %v", err)
	}
	if got, ok := last.Events[0].(events.EpisodeCaptured); !ok || len(got.Content) != 5<<20 {
		t.Fatal("a commit of 5 MB was cut")
	}
}

func testBadTokens(t *testing.T, log events.Log) {
	t.Helper()
	for _, bad := range []string{"", "A", "a.b", "*", ">", "a b", "a\r\nb", "ü", strings.Repeat("a", 65)} {
		good := Episode("acme", "e-1", 1)
		tenant, id, kind, commit := good, good, good, good
		tenant.Aggregate.Tenant, id.Aggregate.ID, kind.Aggregate.Kind, commit.ID = bad, bad, events.Kind(bad), bad
		for what, c := range map[string]events.Commit{"tenant": tenant, "id": id, "kind": kind, "commit": commit} {
			if _, err := log.Append(t.Context(), c, events.ExpectNew); !errors.Is(err, events.ErrInvalid) {
				t.Errorf("append with %s %q: %v, want ErrInvalid", what, bad, err)
			}
			if what == "commit" {
				continue
			}
			if _, err := log.Last(t.Context(), c.Aggregate); !errors.Is(err, events.ErrBadToken) {
				t.Errorf("last with %s %q: %v, want ErrBadToken", what, bad, err)
			}
			for _, err := range log.ReadAggregate(t.Context(), c.Aggregate, 0) {
				if !errors.Is(err, events.ErrBadToken) {
					t.Errorf("read with %s %q: %v, want ErrBadToken", what, bad, err)
				}
			}
		}
	}
	mustAppend(t, log, Episode("acme", "e-1", 1), events.ExpectNew)
}

func testCancelled(t *testing.T, log events.Log) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Episode("acme", "e-1", 1)
	_, appendErr := log.Append(ctx, c, events.ExpectNew)
	_, batchErr := log.AppendBatch(ctx, episodes("acme", 2))
	_, lastErr := log.Last(ctx, c.Aggregate)
	_, atErr := log.MessageAt(ctx, 1)
	_, stateErr := log.State(ctx)
	var readErr error
	for _, readErr = range log.ReadAggregate(ctx, c.Aggregate, 0) {
		break
	}
	for what, err := range map[string]error{
		"append": appendErr, "batch": batchErr, "last": lastErr, "at": atErr, "state": stateErr, "read": readErr,
	} {
		if !errors.Is(err, context.Canceled) || !errors.Is(err, events.ErrUnavailable) {
			t.Errorf("%s: %v, want ErrUnavailable and Canceled", what, err)
		}
	}
	if s := mustState(t, log); s.Messages > 0 {
		t.Errorf("%d messages were appended all the same", s.Messages)
	}
}

func mustState(t *testing.T, log events.Log) events.State {
	t.Helper()
	s, err := log.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}
