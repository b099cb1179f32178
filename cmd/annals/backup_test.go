package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
