package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
)

// annals status says by its exit that a projection has parked a commit.
func TestStatusOfParked(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if out, errs, code := annals(t, "capture", "maria", "She lives in Porto.", "--data", data); code != exitDone {
		t.Fatalf("capture: exit %d: %s%s", code, out, errs)
	}
	if out, errs, code := annals(t, "status", "--data", data); code != exitDone || !strings.Contains(out, "healthy") {
		t.Errorf("control: exit %d: %s%s", code, out, errs)
	}
	captureAgain(t, data)
	for _, args := range [][]string{{"status"}, {"status", "--json"}} {
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != exitFailed || !strings.Contains(out, "parked") {
			t.Errorf("%v with a parked commit: exit %d: %s%s", args, code, out, errs)
		}
	}
}

// captureAgain appends what the first episode was captured with once more, altered,
// which no view can fold.
func captureAgain(t *testing.T, data string) {
	t.Helper()
	n, err := node.Open(t.Context(), node.Options{Data: data, Durability: "process"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}()
	for m, err := range n.Log().Follow(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		r, err := events.Decode(m)
		if err != nil {
			t.Fatal(err)
		}
		captured, ok := r.Events[0].(events.EpisodeCaptured)
		if !ok {
			continue
		}
		captured.Content = bytes.Clone(captured.Content)
		captured.Content[len(captured.Content)-1] ^= 1
		again := r.Commit
		again.ID, again.Events = uuid.NewString(), []events.Event{captured}
		if _, err := n.Log().Append(t.Context(), again, events.Expect(r.Position)); err != nil {
			t.Fatal(err)
		}
		return
	}
}
