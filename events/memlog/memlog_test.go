package memlog_test

import (
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fixed() time.Time { return time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC) }

func TestContract(t *testing.T) {
	t.Parallel()
	logtest.Run(t, func(*testing.T) events.Log { return memlog.New("m-1", fixed) })
}

func TestSecureDelete(t *testing.T) {
	t.Parallel()
	log := memlog.New("m-1", fixed)
	ctx := t.Context()
	c := logtest.Episode("acme", "e-1", 10)
	first, err := log.Append(ctx, c, events.ExpectNew)
	if err != nil {
		t.Fatal(err)
	}
	c.ID = "second"
	second, err := log.Append(ctx, c, events.Expect(first.Position))
	if err != nil {
		t.Fatal(err)
	}
	if err := log.SecureDelete(ctx, first.Position, second.Position, 99); err != nil {
		t.Fatal(err)
	}
	if _, err := log.MessageAt(ctx, first.Position); !errors.Is(err, events.ErrNoCommits) {
		t.Fatalf("a removed message: %v", err)
	}
	if _, err := log.Last(ctx, c.Aggregate); !errors.Is(err, events.ErrNoCommits) {
		t.Fatalf("the last of a removed aggregate: %v", err)
	}
	third, err := log.Append(ctx, c, events.ExpectNew)
	if err != nil || third.Position != second.Position+1 || third.Duplicate {
		t.Fatalf("an append to an emptied aggregate: %+v, %v", third, err)
	}
	s, err := log.State(ctx)
	if err != nil || s.First != third.Position || s.Messages != 1 || s.Identity != "m-1" {
		t.Fatalf("state %+v, %v", s, err)
	}
	for m, err := range log.Follow(ctx, 0) {
		if err != nil || m.Position != third.Position || !m.RecordedAt.Equal(fixed()) {
			t.Fatalf("followed %d, %v", m.Position, err)
		}
		break
	}
}
