package natslog_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
)

// inBubble runs a test against a real server under a clock that can be moved.
func inBubble(t *testing.T, test func(t *testing.T, s *natslog.Streams)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir, Durability: natslog.DurabilityProcess})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := srv.Close(); err != nil {
				t.Error(err)
			}
		}()
		nc, err := srv.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		test(t, mustOpen(t, nc, natslog.Config{}))
	})
}

func TestRetryAfterWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *natslog.Streams) {
		t.Helper()
		log, c := s.Log(), logtest.Episode("acme", "e-1", 1)
		first := wantAck(t, log, c, events.ExpectNew, 0)
		vector := logtest.Vector("acme", "r")
		v := wantAck(t, log, vector, events.ExpectAny, 0)
		wantAck(t, log, logtest.Vector("acme", "s"), events.ExpectAny, 0)
		wantAck(t, log, c, events.ExpectNew, first)
		wantAck(t, log, vector, events.ExpectAny, v)
		time.Sleep(3 * time.Minute)
		wantAck(t, log, c, events.ExpectNew, first)
		// The server has forgotten the ids: where nothing is expected and
		// others followed, the commit is new. It shows that the window is over.
		if again := wantAck(t, log, vector, events.ExpectAny, 0); again <= v {
			t.Fatalf("appended again at %d", again)
		}
		second := c
		second.ID = "second"
		at := wantAck(t, log, second, events.Expect(first), 0)
		var conflict *events.ConflictError
		if _, err := log.Append(t.Context(), c, events.ExpectNew); !errors.As(err, &conflict) || conflict.Actual != at {
			t.Fatalf("a retry after a later commit: %v", err)
		}
	})
}

// wantAck appends and wants a duplicate at a position, or a new commit if that
// is 0.
func wantAck(t *testing.T, log events.Log, c events.Commit, expect events.Expect, duplicateAt uint64) uint64 {
	t.Helper()
	ack, err := log.Append(t.Context(), c, expect)
	if err != nil || ack.Duplicate != (duplicateAt > 0) || (duplicateAt > 0 && ack.Position != duplicateAt) {
		t.Fatalf("got %+v, %v, want a duplicate at %d", ack, err, duplicateAt)
	}
	return ack.Position
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, s *natslog.Streams) {
		t.Helper()
		q, ctx := s.Quarantine(), t.Context()
		for _, tenant := range []string{"acme", "acme-b"} {
			for _, id := range []string{"e-1", "e-2"} {
				m, err := events.Encode(logtest.Episode(tenant, id, 10))
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // Once more is success.
					if err := q.Put(ctx, tenant, id, m); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		other, err := events.Encode(logtest.Episode("acme", "e-3", 10))
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Put(ctx, "acme", "e-1", other); !errors.Is(err, events.ErrConflict) {
			t.Fatalf("another commit under the id: %v", err)
		}
		m, err := q.Get(ctx, "acme", "e-1")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := events.Decode(m); err != nil || r.ID != "c-e-1" || r.Aggregate.Tenant != "acme" {
			t.Fatalf("decode: %v", err)
		}
		if got := listed(t, q, "acme"); len(got) != 2 || got[0] != "e-1" || got[1] != "e-2" {
			t.Fatalf("listed %v", got)
		}
		for range 2 { // Absent is success.
			if err := q.Remove(ctx, "acme", "e-2"); err != nil {
				t.Fatal(err)
			}
		}
		if got := listed(t, q, "acme"); len(got) != 1 {
			t.Fatalf("after a removal: %v", got)
		}
		for _, bad := range []string{"", "*", "a.b", ">"} {
			_, getErr := q.Get(ctx, "acme", bad)
			if putErr := q.Put(ctx, bad, "e", m); !errors.Is(putErr, events.ErrBadToken) || !errors.Is(getErr, events.ErrBadToken) {
				t.Errorf("token %q: %v, %v", bad, putErr, getErr)
			}
		}
		time.Sleep(14 * time.Minute)
		if _, err := q.Get(ctx, "acme", "e-1"); err != nil {
			t.Fatalf("after 14 minutes: %v", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := q.Get(ctx, "acme", "e-1"); !errors.Is(err, events.ErrNoCommits) {
			t.Fatalf("after 16 minutes: %v", err)
		}
	})
}

func listed(t *testing.T, q *natslog.Quarantine, tenant string) []string {
	t.Helper()
	var ids []string
	for item, err := range q.List(t.Context(), tenant) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, item.ID)
	}
	return ids
}
