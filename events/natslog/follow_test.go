package natslog_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
)

func appendEpisodes(t *testing.T, log events.Appender, name string, n, size int) uint64 {
	t.Helper()
	last := uint64(0)
	for i := range n {
		ack, err := log.Append(t.Context(), logtest.Episode("acme", fmt.Sprintf("%s-%d", name, i), size), events.ExpectNew)
		if err != nil {
			t.Fatal(err)
		}
		last = ack.Position
	}
	return last
}

// followThrough follows from the beginning while what each step does goes on:
// a step is taken whenever the follower has caught up, and appends at least one
// commit.
func followThrough(t *testing.T, log events.Log, steps ...func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	appendEpisodes(t, log, "first", 10, 10)
	next := uint64(1)
	for m, err := range log.Follow(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Position != next {
			t.Fatalf("position %d, want %d", m.Position, next)
		}
		next++
		if m.Pending > 0 {
			continue
		}
		s, err := log.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Last > m.Position {
			continue
		}
		if len(steps) == 0 {
			return
		}
		steps[0]()
		steps = steps[1:]
	}
	t.Fatalf("followed up to %d only", next-1)
}

func TestFollowSurvivesItsConsumer(t *testing.T) {
	t.Parallel()
	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	log := mustOpen(t, nc, natslog.Config{}).Log()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	deleted := 0
	kill := func() {
		for _, name := range consumers(t, js) {
			if err := js.DeleteConsumer(t.Context(), "EVENTS", name); err != nil {
				t.Fatal(err)
			}
			deleted++
		}
		appendEpisodes(t, log, fmt.Sprintf("after-%d", deleted), 5, 10)
	}
	followThrough(t, log, kill, kill)
	if deleted != 2 {
		t.Fatalf("%d consumers were deleted, want 2", deleted)
	}
	if left := consumers(t, js); len(left) != 0 {
		t.Fatalf("%d consumers are left over", len(left))
	}
}

func consumers(t *testing.T, js jetstream.JetStream) []string {
	t.Helper()
	stream, err := js.Stream(t.Context(), "EVENTS")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	list := stream.ConsumerNames(t.Context())
	for name := range list.Name() {
		names = append(names, name)
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return names
}

func TestFollowSurvivesReconnectAndRestart(t *testing.T) {
	t.Parallel()
	o := natslog.Options{
		Dir: t.TempDir(), Durability: natslog.DurabilityProcess,
		Listen: fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0]),
	}
	srv, err := natslog.StartServer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	reader, writer := mustConnect(t, srv), mustConnect(t, srv)
	writing := mustOpen(t, writer, natslog.Config{}).Log()
	log := struct {
		events.Appender
		events.AggregateReader
		events.KindReader
		events.Follower
	}{writing, writing, writing, mustOpen(t, reader, natslog.Config{}).Log()}
	followThrough(t, log,
		func() {
			if err := reader.ForceReconnect(); err != nil {
				t.Fatal(err)
			}
			appendEpisodes(t, writing, "reconnected", 20, 10)
		},
		func() {
			if err := srv.Close(); err != nil {
				t.Fatal(err)
			}
			if srv, err = natslog.StartServer(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			fresh := mustConnect(t, srv)
			appendEpisodes(t, mustOpen(t, fresh, natslog.Config{}).Log(), "restarted", 20, 10)
		})
}

func mustConnect(t *testing.T, srv *natslog.Server) *nats.Conn {
	t.Helper()
	nc, err := natslog.Connect(t.Context(), srv.URL(), natslog.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// followError follows until it fails; on the last of n messages it spoils
// something.
func followError(t *testing.T, log events.Log, n int, spoil func()) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	appendEpisodes(t, log, "e", n, 10)
	for _, err := range log.Follow(ctx, 0) {
		if err != nil {
			return err
		}
		if n--; n == 0 {
			spoil()
		}
	}
	return nil
}

func TestFollowOfAReplacedLog(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]int{"deleted": -1, "empty": 0, "longer": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
			log := mustOpen(t, nc, natslog.Config{}).Log()
			js, err := jetstream.New(nc)
			if err != nil {
				t.Fatal(err)
			}
			err = followError(t, log, 10, func() {
				if err := js.DeleteStream(t.Context(), "EVENTS"); err != nil {
					t.Fatal(err)
				}
				if again >= 0 {
					appendEpisodes(t, mustOpen(t, nc, natslog.Config{}).Log(), "again", again, 10)
				}
			})
			if !errors.Is(err, natslog.ErrRewound) {
				t.Fatalf("got %v, want ErrRewound", err)
			}
		})
	}
}

func TestFollowOnAClosedConnection(t *testing.T) {
	t.Parallel()
	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	log := mustOpen(t, nc, natslog.Config{}).Log()
	if err := followError(t, log, 10, nc.Close); !errors.Is(err, events.ErrUnavailable) {
		t.Fatalf("got %v, want ErrUnavailable", err)
	}
}

// More than one request may hold, in messages and in bytes.
func TestFollowBeyondOneRequest(t *testing.T) {
	t.Parallel()
	log := fresh(t, natslog.DurabilityProcess).Log()
	last := appendEpisodes(t, log, "large", 12, 3<<20)
	batch := make([]events.Pending, events.MaxBatch)
	for range 9 {
		for i := range batch {
			batch[i] = events.Pending{Commit: logtest.Vector("acme", "r"), Expect: events.ExpectAny}
			batch[i].Commit.Aggregate.Tenant = fmt.Sprintf("t-%d", i)
		}
		acks, err := log.AppendBatch(t.Context(), batch)
		if err != nil {
			t.Fatal(err)
		}
		last = acks[len(acks)-1].Position
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	want := uint64(1)
	for m, err := range log.Follow(ctx, 0) {
		if err != nil || m.Position != want {
			t.Fatalf("position %d, %v, want %d", m.Position, err, want)
		}
		if want++; m.Position == last {
			return
		}
	}
	t.Fatalf("followed up to %d, want %d", want-1, last)
}

// Whatever else is on the stream is passed on and does not decode.
func TestFollowPassesForeignMessages(t *testing.T) {
	t.Parallel()
	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	log := mustOpen(t, nc, natslog.Config{}).Log()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	foreign := []string{"annals.x", "annals.0.acme.episode.e-1", "annals.99.acme.episode.e-1", logtest.Episode("acme", "e-1", 1).Aggregate.Subject()}
	for _, subject := range foreign {
		if _, err := js.Publish(t.Context(), subject, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	last := appendEpisodes(t, log, "good", 1, 1)
	refused := 0
	for m, err := range log.Follow(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := events.Decode(m); err != nil {
			refused++
		}
		if m.Position == last {
			break
		}
	}
	if refused != len(foreign) {
		t.Fatalf("%d of %d foreign messages were refused", refused, len(foreign))
	}
	if _, err := log.Last(t.Context(), logtest.Episode("acme", "e-1", 1).Aggregate); !errors.Is(err, events.ErrCorrupt) {
		t.Fatalf("a foreign last message: %v", err)
	}
}
