package natslog_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// onDisk reports whether any file under dir holds the bytes.
func onDisk(t *testing.T, dir string, needle []byte) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // The server renames while it rewrites.
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = found || bytes.Contains(data, needle)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func secret(t *testing.T) []byte {
	t.Helper()
	b := make([]byte, 48)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// inStore starts a server whose directory can be looked at.
func inStore(t *testing.T) (string, *natslog.Streams, jetstream.JetStream) {
	t.Helper()
	dir := t.TempDir()
	_, nc := mustStart(t, natslog.Options{Dir: dir, Durability: natslog.DurabilityPower})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return dir, mustOpen(t, nc, natslog.Config{}), js
}

func wantOnDisk(t *testing.T, dir, what string, needle []byte, want bool) {
	t.Helper()
	if got := onDisk(t, dir, needle); got != want {
		t.Fatalf("%s: on disk: %v, want %v", what, got, want)
	}
}

func TestDestroyedRowIsNotOnDisk(t *testing.T) {
	t.Parallel()
	dir, streams, _ := inStore(t)
	keys, ctx := streams.Keys(), t.Context()
	victim, former, neighbour := secret(t), secret(t), secret(t)
	err := keys.Create(ctx,
		seal.Row{Key: "k3.t.a", Value: former},
		seal.Row{Key: "k3.t.b", Value: neighbour})
	if err != nil {
		t.Fatal(err)
	}
	row, err := keys.Get(ctx, "k3.t.a")
	if err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "a row", former, true)
	row.Value = victim
	if _, err := keys.Put(ctx, row); err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "an overwritten row", former, false)
	wantOnDisk(t, dir, "the row that replaced it", victim, true)
	if err := keys.Destroy(ctx, "k3.t.a", "k3.t.never"); err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "a destroyed row", victim, false)
	wantOnDisk(t, dir, "its neighbour", neighbour, true)
	if _, err := keys.Get(ctx, "k3.t.a"); !errors.Is(err, seal.ErrNoRow) {
		t.Fatalf("a destroyed row: %v", err)
	}
	if err := keys.Create(ctx, seal.Row{Key: "k3.t.a", Value: victim}); err != nil {
		t.Fatalf("the key cannot be used again: %v", err)
	}
	wantOnDisk(t, dir, "the row created again", victim, true)
}

// A Put that ended between its two steps leaves the former message. It is
// never seen, and the next write takes it away.
func TestInterruptedPut(t *testing.T) {
	t.Parallel()
	dir, streams, js := inStore(t)
	keys, ctx := streams.Keys(), t.Context()
	former, newer, last := secret(t), secret(t), secret(t)
	if err := keys.Create(ctx, seal.Row{Key: "k1.t", Value: former}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "annals-keys.k1.t", newer); err != nil {
		t.Fatal(err)
	}
	row, err := keys.Get(ctx, "k1.t")
	if err != nil || !bytes.Equal(row.Value, newer) {
		t.Fatalf("not the newer row: %v", err)
	}
	n := 0
	for listed, err := range keys.List(ctx, "k1") {
		if n++; err != nil || listed.Revision != row.Revision {
			t.Fatalf("listed revision %d, %v", listed.Revision, err)
		}
	}
	if n != 1 {
		t.Fatalf("the row is listed %d times", n)
	}
	wantOnDisk(t, dir, "the former row", former, true)
	row.Value = last
	if _, err := keys.Put(ctx, row); err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "the former row after a put", former, false)
	wantOnDisk(t, dir, "the newer row after a put", newer, false)
	if _, err := js.Publish(ctx, "annals-keys.k1.t", newer); err != nil {
		t.Fatal(err)
	}
	if err := keys.Destroy(ctx, "k1.t"); err != nil {
		t.Fatal(err)
	}
	wantOnDisk(t, dir, "the row before a destruction", last, false)
	wantOnDisk(t, dir, "the row after a destruction", newer, false)
}

// This is why the stream of keys does not let a limit replace its messages.
func TestLimitLeavesBytes(t *testing.T) {
	t.Parallel()
	dir, _, js := inStore(t)
	ctx := t.Context()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "ONE", Subjects: []string{"one.>"}, MaxMsgsPerSubject: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	former := secret(t)
	for _, body := range [][]byte{former, secret(t)} {
		if _, err := js.Publish(ctx, "one.a", body); err != nil {
			t.Fatal(err)
		}
	}
	wantOnDisk(t, dir, "a message replaced by a limit", former, true)
}

func TestErasedCommit(t *testing.T) {
	t.Parallel()
	dir, streams, _ := inStore(t)
	log, eraser, ctx := streams.Log(), streams.Eraser(), t.Context()
	c := logtest.Episode("acme", "e-1", 10)
	c.TraceParent = "00-deadbeefcafe4d06a3ce929d0e0e4736-5ca1ab1e0ba902b7-01"
	needle := []byte(c.TraceParent)
	var positions []uint64
	for _, id := range []string{"a", "b", "c"} {
		c.ID = id
		expect := events.ExpectNew
		if len(positions) > 0 {
			expect = events.Expect(positions[len(positions)-1])
		}
		ack, err := log.Append(ctx, c, expect)
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, ack.Position)
		c.TraceParent = ""
	}
	wantOnDisk(t, dir, "a commit", needle, true)
	for range 2 { // Absent is success.
		if err := eraser.SecureDelete(ctx, positions[0], positions[2], 0, 999); err != nil {
			t.Fatal(err)
		}
	}
	wantOnDisk(t, dir, "an erased commit", needle, false)
	if _, err := log.MessageAt(ctx, positions[0]); !errors.Is(err, events.ErrNoCommits) {
		t.Fatalf("an erased commit: %v", err)
	}
	var read []uint64
	for r, err := range log.ReadAggregate(ctx, c.Aggregate, 0) {
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, r.Position)
	}
	if len(read) != 1 || read[0] != positions[1] {
		t.Fatalf("read %v", read)
	}
	c.ID = "d"
	ack, err := log.Append(ctx, c, events.Expect(positions[1]))
	if err != nil {
		t.Fatal(err)
	}
	follow, cancel := context.WithCancel(ctx)
	defer cancel()
	var followed []uint64
	for m, err := range log.Follow(follow, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if followed = append(followed, m.Position); m.Position == ack.Position {
			break
		}
	}
	if len(followed) != 2 || followed[0] != positions[1] {
		t.Fatalf("followed %v", followed)
	}
}

// A commit whose message was removed can be appended again, as often as that
// happens, though the server still knows the ids.
func TestAppendAgainAfterRemoval(t *testing.T) {
	t.Parallel()
	s := fresh(t, natslog.DurabilityProcess)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := logtest.Episode("acme", "e-1", 1)
	for i := range 4 {
		ack, err := s.Log().Append(ctx, c, events.ExpectNew)
		if err != nil || ack.Duplicate {
			t.Fatalf("append %d: %+v, %v", i, ack, err)
		}
		if again, err := s.Log().Append(ctx, c, events.ExpectNew); err != nil || !again.Duplicate || again.Position != ack.Position {
			t.Fatalf("retry %d: %+v, %v", i, again, err)
		}
		if err := s.Eraser().SecureDelete(ctx, ack.Position); err != nil {
			t.Fatal(err)
		}
	}
}
