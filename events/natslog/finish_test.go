package natslog_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// A process that is killed between the note that a message is deleted and the
// overwriting of it leaves the bytes, which no request reaches any more. The next
// start overwrites them, and nothing beside them.
func TestStartFinishesDeletions(t *testing.T) {
	t.Parallel()
	dir, streams, js := inStore(t)
	keys, ctx := streams.Keys(), t.Context()
	victim, neighbour := secret(t), secret(t)
	if err := keys.Create(ctx, seal.Row{Key: "k3.t.b", Value: neighbour}, seal.Row{Key: "k3.t.a", Value: victim}); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join("jetstream", "$G", "streams", "KEYS", "msgs", "1.blk")
	before, err := os.ReadFile(filepath.Join(dir, block))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Destroy(ctx, "k3.t.a"); err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "KEYS")
	if err != nil {
		t.Fatal(err)
	}
	// What a killed process leaves is a copy of what a running one has. That the bytes
	// had not been overwritten yet is put back.
	killed, ended := filepath.Join(t.TempDir(), "killed"), filepath.Join(t.TempDir(), "ended")
	for _, to := range []string{killed, ended} {
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(to, block))
		if err != nil {
			t.Fatal(err)
		}
		copy(after, before)
		if err := os.WriteFile(filepath.Join(to, block), after, 0o600); err != nil {
			t.Fatal(err)
		}
		wantOnDisk(t, to, "a deleted row that was not overwritten", victim, true)
	}
	// As a control, a server that ended well leaves nothing to finish.
	if err := os.Remove(filepath.Join(ended, "annals.open")); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]bool{killed: false, ended: true} {
		_, nc := mustStart(t, natslog.Options{Dir: to, Durability: natslog.DurabilityPower})
		again := mustOpen(t, nc, natslog.Config{})
		wantOnDisk(t, to, "a deleted row after a start", victim, want)
		wantOnDisk(t, to, "its neighbour", neighbour, true)
		if row, err := again.Keys().Get(ctx, "k3.t.b"); err != nil || string(row.Value) != string(neighbour) {
			t.Errorf("the neighbour: %v", err)
		}
		if _, err := again.Keys().Get(ctx, "k3.t.a"); !errors.Is(err, seal.ErrNoRow) {
			t.Errorf("a destroyed row: %v", err)
		}
		if err := again.Keys().Create(ctx, seal.Row{Key: "k3.t.c", Value: secret(t)}); err != nil {
			t.Errorf("a row behind them: %v", err)
		}
	}
	if info, err := stream.Info(ctx); err != nil || info.State.NumDeleted == 0 {
		t.Errorf("control: nothing was deleted: %+v, %v", info, err)
	}
}

// A directory that was left well says nothing of a server on it.
func TestCloseLeavesNoNote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	note := filepath.Join(dir, "annals.open")
	srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir, Durability: natslog.DurabilityProcess})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(note); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(note); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
	if err := srv.Close(); err != nil {
		t.Errorf("a second end: %v", err)
	}
}
