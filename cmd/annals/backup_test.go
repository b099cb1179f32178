package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/tombstones/backup"
)

// artefacts are the files of a backup directory, the last of each kind.
func artefacts(t *testing.T, dir string) map[backup.Kind]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	last := map[backup.Kind]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		a, err := backup.Open(path, "")
		if err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		if e.Name() != backup.FileName(a.Manifest) {
			t.Errorf("%s is named otherwise than its manifest", e.Name())
		}
		last[a.Kind] = path
	}
	return last
}

// mustAnnals runs a command that must succeed.
func mustAnnals(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := annals(t, args...)
	if code != exitDone {
		t.Fatalf("annals %s: exit %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out + errs
}

// TestBackupAndRestore backs up a server that runs, forgets, and restores on the
// command line as the runbook says.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	data, old, fresh, to := filepath.Join(work, "data"), filepath.Join(work, "old"), filepath.Join(work, "fresh"), filepath.Join(work, "to")
	s := serve(t, data)
	mustAnnals(t, "capture", "--data", data, "maria", "Maria's code word is zanzibarword.")
	mustAnnals(t, "capture", "--data", data, "petra", "Petra's code word is marigoldword.")
	if said := mustAnnals(t, "backup", old, "--data", data); !strings.Contains(said, "root key") || !strings.Contains(said, "ledger-") {
		t.Errorf("the backup says %s", said)
	}
	mustAnnals(t, "forget", "--data", data, "--subject", "maria")
	mustAnnals(t, "backup", fresh, "--only", "ledger", "--data", data)
	// As the runbook says, the copy of the anchor is older than the ledger beside it.
	kept, err := os.ReadFile(filepath.Join(data, "anchor"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "anchor"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	mustAnnals(t, "backup", fresh, "--only", "ledger", "--data", data)
	s.stop()
	was, is := artefacts(t, old), artefacts(t, fresh)
	if len(was) != 3 || len(is) != 1 {
		t.Fatalf("artefacts %v and %v", was, is)
	}
	mustAnnals(t, "backup", "verify", was[backup.KindData], is[backup.KindLedger])
	restore := func(more ...string) (string, int) {
		out, errs, code := annals(t, append([]string{
			"restore", "--data", to, "--from", was[backup.KindData], "--keys", was[backup.KindKeys], "--root", filepath.Join(data, "root.key"),
		}, more...)...)
		return out + errs, code
	}
	newest, anchor := "--ledger="+is[backup.KindLedger], "--anchor="+filepath.Join(work, "anchor")
	if said, code := restore(); code != exitMisuse || !strings.Contains(said, "newest ledger") {
		t.Errorf("without a ledger: exit %d: %s", code, said)
	}
	if said, code := restore("--ledger="+was[backup.KindLedger], anchor); code != exitFailed || !strings.Contains(said, "the ledger is older") {
		t.Errorf("a stale ledger: exit %d: %s", code, said)
	}
	said, code := restore(newest, anchor, "--signer="+filepath.Join(data, "ledger.key"))
	if code != exitDone || !strings.Contains(said, "positions are lost") || !strings.Contains(said, "epoch 1 begins") {
		t.Fatalf("restore: exit %d: %s", code, said)
	}
	if said, code := restore(newest); code != exitMisuse || !strings.Contains(said, "not empty") {
		t.Errorf("a second time: exit %d: %s", code, said)
	}
	if out := mustAnnals(t, "recall", "code word", "--data", to); !strings.Contains(out, "marigoldword") || strings.Contains(out, "zanzibarword") {
		t.Errorf("recalled: %s", out)
	}
	mustAnnals(t, "verify", "--data", to)

	if out := mustAnnals(t, "backup", "prune", old, "--dry-run"); !strings.Contains(out, "would remove 0") {
		t.Errorf("prune: %s", out)
	}
	if out, errs, code := annals(t, "backup", "prune", old, "--data-keep", "-3d"); code != exitMisuse {
		t.Errorf("prune by nonsense: exit %d: %s%s", code, out, errs)
	}
	if err := os.WriteFile(filepath.Join(to, "restoring"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"recall", "code word"}, {"serve", "--addr", "127.0.0.1:0"}, {"verify"}} {
		if out, errs, code := annals(t, append(args, "--data", to)...); code != exitNotReady || !strings.Contains(errs, "cut off") {
			t.Errorf("%s while it is being restored: exit %d: %s%s", args[0], code, out, errs)
		}
	}
}

// TestRestoreKilled kills a restore at what it has just written. What it leaves
// is refused, and the restore succeeds once it was removed.
func TestRestoreKilled(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	data, out, to := filepath.Join(work, "data"), filepath.Join(work, "out"), filepath.Join(work, "to")
	mustAnnals(t, "capture", "--data", data, "petra", "Petra's code word is marigoldword.")
	mustAnnals(t, "backup", out, "--data", data)
	files := artefacts(t, out)
	args := []string{
		"restore", "--data", to, "--from", files[backup.KindData], "--keys", files[backup.KindKeys],
		"--ledger", files[backup.KindLedger], "--root", filepath.Join(data, "root.key"),
	}
	killed := 0
	streams := filepath.Join("log", "jetstream", "$G", "streams")
	for _, file := range []string{
		"restoring", "root.key", "log", filepath.Join(streams, "EVENTS"), filepath.Join(streams, "KEYS"),
		filepath.Join(streams, "LEDGER"), filepath.Join(streams, "QUARANTINE"), "ledger.key", "anchor",
	} {
		killAt(t, filepath.Join(to, file), args)
		if _, err := os.Stat(filepath.Join(to, "restoring")); err != nil { // it was quicker
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			continue
		}
		killed++
		for _, c := range [][]string{{"recall", "code word"}, {"serve", "--addr", "127.0.0.1:0"}} {
			if out, errs, code := annals(t, append(c, "--data", to)...); code != exitNotReady || !strings.Contains(errs, "cut off") {
				t.Errorf("killed at %s: %s: exit %d: %s%s", file, c[0], code, out, errs)
			}
		}
		if _, errs, code := annals(t, args...); code != exitMisuse {
			t.Errorf("killed at %s: restored into what is left: exit %d: %s", file, code, errs)
		}
		if err := os.RemoveAll(to); err != nil {
			t.Fatal(err)
		}
	}
	if killed < 5 {
		t.Errorf("only %d restores were killed", killed)
	}
	mustAnnals(t, args...)
	if out := mustAnnals(t, "recall", "code word", "--data", to); !strings.Contains(out, "marigoldword") {
		t.Errorf("recalled: %s", out)
	}
}

// killAt kills a restore when a file appears, unless it ends before.
func killAt(t *testing.T, file string, args []string) {
	t.Helper()
	c := command(t.Context(), t, args...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	tick := time.NewTicker(time.Millisecond / 2)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("the restore ended by itself: %v", err)
			}
			return
		case <-tick.C:
			if _, err := os.Stat(file); err != nil {
				continue
			}
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil { // or it was quicker
				t.Logf("killed: %v", err)
			}
			return
		}
	}
}
