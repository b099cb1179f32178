package tombstones_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
)

// lines keeps what is logged and tells of the first lines.
type lines struct {
	mu    sync.Mutex
	all   bytes.Buffer
	lines chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.lines <- struct{}{}:
	default:
	}
	return l.all.Write(b)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// eraser is another eraser of the node, that tries again soon.
func (n *node) eraser(log tombstones.Log) (*tombstones.Eraser, *lines) {
	n.Helper()
	l := &lines{lines: make(chan struct{}, 1)}
	e, err := tombstones.New(tombstones.Config{
		Log: log, Keys: n.Keys, Views: query.NewErasingViews(n.Views), Now: n.Clock.Now, NewID: newID,
		Logger: slog.New(slog.NewTextHandler(l, nil)), FirstRetry: time.Millisecond,
	})
	must(n, err)
	return e, l
}

// stuck is a node whose rows can be stuck, with what its eraser logs.
func stuck(tb testing.TB) (*node, *stuckRows, *lines) {
	tb.Helper()
	c, rows := nodetest.NewClock(), &stuckRows{Rows: seal.NewMemRows()}
	n := start(tb, nodetest.Options{Clock: c, Rows: rows})
	var l *lines
	n.Eraser, l = n.eraser(n.Events)
	return n, rows, l
}

// downLog cannot be read for a while.
type downLog struct {
	events.Log

	states, follows atomic.Int32
}

func (l *downLog) State(ctx context.Context) (events.State, error) {
	if l.states.Add(-1) >= 0 {
		return events.State{}, events.ErrUnavailable
	}
	return l.Log.State(ctx)
}

// Follow breaks off behind every message, as often as it is told to.
func (l *downLog) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		n := 0
		for m, err := range l.Log.Follow(ctx, after) {
			if n++; n == 2 && l.follows.Add(-1) >= 0 {
				yield(events.Message{}, events.ErrUnavailable)
				return
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// bury puts the tombstone of an episode into the log and does no more, as a
// forget that is cut off there.
func (n *node) bury(subject, id string) {
	n.Helper()
	agg := events.Aggregate{Tenant: n.token(), Kind: events.KindEpisode, ID: id}
	last, err := n.Events.Last(n.Context(), agg)
	must(n, err)
	sid, err := n.sid(subject)
	must(n, err)
	_, err = n.Events.Append(n.Context(), events.Commit{
		ID: newID(), Aggregate: agg, Time: n.Clock.Now(),
		Events: []events.Event{events.EpisodeForgotten{Subject: sid, Erasure: newID()}},
	}, events.Expect(last.Position))
	must(n, err)
}

// running runs an eraser and says when it has returned.
func running(t *testing.T, e *tombstones.Eraser) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// until polls for what a background loop brings about.
func (n *node) until(done func() bool) {
	n.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-n.Context().Done():
			n.Fatal("it does not come about")
		case <-tick.C:
		}
	}
}

// A log that cannot be read for a while ends nothing.
func TestRunOutlastsTheLog(t *testing.T) {
	t.Parallel()
	n := inMemory(t)
	a, b, other := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims."), n.Tell("jonas", "Jonas swims.")
	n.bury("maria", a)
	n.bury("maria", b)
	down := &downLog{Log: n.Events}
	down.states.Store(3)
	down.follows.Store(4)
	e, logged := n.eraser(down)
	if err := e.Finish(t.Context()); !errors.Is(err, events.ErrUnavailable) {
		t.Errorf("one pass: %v", err)
	}
	stop := running(t, e)
	n.until(func() bool { return n.keyless(a) && n.keyless(b) })
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	if n.keyless(other) {
		t.Error("a neighbour's key is gone")
	}
	if got := strings.Count(logged.text(), "eraser retries"); got != 6 || strings.Contains(logged.text(), "Maria") {
		t.Errorf("%d retries: %s", got, logged.text())
	}
}

// One tombstone that cannot be finished does not stop those behind it, and is
// finished when it can be.
func TestRunGoesOnWithoutOneTombstone(t *testing.T) {
	t.Parallel()
	n, rows, logged := stuck(t)
	a, b, other := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims."), n.Tell("jonas", "Jonas swims.")
	n.bury("maria", a)
	n.bury("maria", b)
	rows.stick("k3." + n.token() + "." + a)
	if err := n.Finish(t.Context()); !errors.Is(err, tombstones.ErrUnfinished) {
		t.Errorf("one pass: %v", err)
	}
	if n.keyless(a) || !n.keyless(b) {
		t.Error("not all but the one are finished")
	}
	<-logged.lines
	stop := running(t, n.Eraser)
	<-logged.lines
	if n.keyless(a) {
		t.Error("the key was not stuck")
	}
	rows.stick("")
	n.until(func() bool { return n.keyless(a) })
	if err := stop(); err != nil {
		t.Errorf("run: %v", err)
	}
	if n.keyless(other) {
		t.Error("a neighbour's key is gone")
	}
}

// A record whose key row is damaged can be forgotten by its id.
func TestForgetDamaged(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *node{"memory": inMemory, "nats": onNATS} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := open(t)
			id, other := n.Tell("maria", "Maria plays the cello."), n.Tell("maria", "Maria swims.")
			single := n.Promoted(fact("maria", "sport", `"swimming"`, day(2), other))
			batch := n.Tell("maria", "Maria sails.")
			for _, record := range []string{id, single, batch} {
				n.damage(record)
			}
			end := n.End()
			if _, err := n.ForgetRecord(t.Context(), user("acme"), "", events.KindFact, id); !errors.Is(err, events.ErrNotFound) || n.End() != end {
				t.Errorf("another kind: %v", err)
			}
			for kind, record := range map[events.Kind]string{events.KindEpisode: id, events.KindFact: single} {
				out, err := n.ForgetRecord(t.Context(), user("acme"), "", kind, record)
				must(t, err)
				if out.Level != tombstones.LevelShredded || out.Position == 0 || !n.keyless(record) {
					t.Errorf("%s: %+v", kind, out)
				}
			}
			if out := n.forget("", tombstones.ForgetRequest{IDs: []string{batch}}); out.Level != tombstones.LevelShredded || !n.keyless(batch) {
				t.Errorf("in a list: %+v", out)
			}
			if n.lives(id) || n.lives(batch) || !n.lives(other) || n.keyless(other) {
				t.Error("not exactly what was asked for is gone")
			}
			if _, err := n.Fact(t.Context(), user("acme"), n.Get(single)); !errors.Is(err, events.ErrForgotten) {
				t.Errorf("the fact: %v", err)
			}
		})
	}
}

// damage overwrites the key row of a record, and makes sure that it is damaged.
func (n *node) damage(id string) {
	n.Helper()
	row, err := n.Rows.Get(n.Context(), "k3."+n.token()+"."+id)
	must(n, err)
	row.Value = bytes.Clone(row.Value)
	row.Value[len(row.Value)-1] ^= 1
	_, err = n.Rows.Put(n.Context(), row)
	must(n, err)
	if _, err := n.Keys.Record(n.Context(), n.token(), id); !errors.Is(err, seal.ErrTampered) {
		n.Fatalf("the row is not damaged: %v", err)
	}
}
