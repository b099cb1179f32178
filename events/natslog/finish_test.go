package natslog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// What is damaged is no reason to overwrite anything: a flipped bit in the note of a
// deletion makes it name another message.
func TestDamagedNoteErasesNothing(t *testing.T) {
	t.Parallel()
	dir, streams, _ := inStore(t)
	keys, ctx := streams.Keys(), t.Context()
	secrets := map[string][]byte{"k3.t.a": secret(t), "k3.t.b": secret(t), "k3.t.c": secret(t)}
	for _, key := range slices.Sorted(maps.Keys(secrets)) { // at 1, 2 and 3
		if err := keys.Create(ctx, seal.Row{Key: key, Value: secrets[key]}); err != nil {
			t.Fatal(err)
		}
	}
	block := filepath.Join("jetstream", "$G", "streams", "KEYS", "msgs", "1.blk")
	before, err := os.ReadFile(filepath.Join(dir, block))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Destroy(ctx, "k3.t.b"); err != nil {
		t.Fatal(err)
	}
	for flip, want := range map[bool]bool{true: true, false: false} {
		to := filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(filepath.Join(to, block))
		if err != nil {
			t.Fatal(err)
		}
		copy(after, before)
		note := binary.LittleEndian.AppendUint64(nil, 2|1<<62)
		at := bytes.Index(after, note)
		if at < len(before) {
			t.Fatalf("the note of the deletion is at %d", at)
		}
		if flip {
			after[at] ^= 1
		}
		if err := os.WriteFile(filepath.Join(to, block), after, 0o600); err != nil {
			t.Fatal(err)
		}
		mustStart(t, natslog.Options{Dir: to, Durability: natslog.DurabilityPower, Reached: map[string]uint64{natslog.PartKeys: 3}})
		wantOnDisk(t, to, "what the damaged note is about", secrets["k3.t.b"], want) // as a control, the whole one has it overwritten
		wantOnDisk(t, to, "what it names now", secrets["k3.t.c"], true)
	}
}

// A compaction of the server that is cut off leaves the block as it was to become, which
// no deletion reaches.
func TestStartRemovesUnfinishedBlocks(t *testing.T) {
	t.Parallel()
	dir, streams, _ := inStore(t)
	keys, ctx := streams.Keys(), t.Context()
	victim, neighbour := secret(t), secret(t)
	if err := keys.Create(ctx, seal.Row{Key: "k3.t.a", Value: victim}, seal.Row{Key: "k3.t.b", Value: neighbour}); err != nil {
		t.Fatal(err)
	}
	msgs := filepath.Join("jetstream", "$G", "streams", "KEYS", "msgs")
	whole, err := os.ReadFile(filepath.Join(dir, msgs, "1.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"1.new": false, "1.blk.tmp": false, "1.other": true} {
		to := filepath.Join(t.TempDir(), "killed")
		if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, msgs, name), whole, 0o600); err != nil {
			t.Fatal(err)
		}
		_, nc := mustStart(t, natslog.Options{Dir: to, Durability: natslog.DurabilityPower})
		again := mustOpen(t, nc, natslog.Config{})
		if err := again.Keys().Destroy(ctx, "k3.t.a"); err != nil {
			t.Fatal(err)
		}
		wantOnDisk(t, to, "a destroyed row beside "+name, victim, want)
		wantOnDisk(t, to, "its neighbour", neighbour, true)
	}
}

// A disk that takes the note of a deletion and not the block anew: that is no deletion,
// however often it is asked for, until a start has finished it.
func TestFailedOverwriteIsNoDeletion(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"the disk fails": true, "control": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, ctx := t.TempDir(), t.Context()
			srv, nc := mustStart(t, natslog.Options{Dir: dir, Durability: natslog.DurabilityPower})
			keys := mustOpen(t, nc, natslog.Config{Server: srv}).Keys()
			victim, neighbour := secret(t), secret(t)
			if err := keys.Create(ctx, seal.Row{Key: "k3.t.a", Value: victim}, seal.Row{Key: "k3.t.b", Value: neighbour}); err != nil {
				t.Fatal(err)
			}
			// Where the server is going to write the block, there is a directory.
			inTheWay := filepath.Join(dir, "jetstream", "$G", "streams", "KEYS", "msgs", "1.blk.tmp")
			if fails {
				if err := os.Mkdir(inTheWay, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				err := keys.Destroy(ctx, "k3.t.a")
				if failed, is := errors.AsType[*natslog.WriteError](err); is != fails || is && failed.Stream != "KEYS" {
					t.Errorf("the deletion says %v", err)
				}
			}
			if _, is := errors.AsType[*natslog.WriteError](srv.Health()); is != fails {
				t.Errorf("the server says %v", srv.Health())
			}
			nc.Close()
			if err := srv.Close(); err != nil {
				t.Fatal(err)
			}
			wantOnDisk(t, dir, "what could not be overwritten", victim, fails)
			if err := os.RemoveAll(inTheWay); err != nil {
				t.Fatal(err)
			}
			srv, nc = mustStart(t, natslog.Options{Dir: dir, Durability: natslog.DurabilityPower})
			keys = mustOpen(t, nc, natslog.Config{Server: srv}).Keys()
			if err := keys.Destroy(ctx, "k3.t.a"); err != nil {
				t.Errorf("after a start: %v", err)
			}
			wantOnDisk(t, dir, "the row after a start", victim, false)
			wantOnDisk(t, dir, "its neighbour", neighbour, true)
		})
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
