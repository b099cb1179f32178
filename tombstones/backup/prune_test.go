package backup_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"

	"github.com/annals-memory/annals/tombstones/backup"
)

func TestPrune(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	var names []string
	for _, kind := range backup.Kinds() {
		for _, age := range []int{1, 29, 31, 89, 91} {
			names = append(names, backup.FileName(backup.Manifest{Kind: kind, MadeAt: now.Add(-time.Duration(age) * day), Last: 7}))
		}
	}
	names = append(names, "notes.annals", "data-x-1.annals", "keys-20200101T000000Z-1.annals.part")
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	keep := map[backup.Kind]time.Duration{backup.KindData: 90 * day, backup.KindKeys: 30 * day}
	old, err := backup.Old(dir, keep, now)
	must(t, err)
	if diff := cmp.Diff([]string{
		"data-20260831T120000Z-000000000007.annals", "keys-20260831T120000Z-000000000007.annals", "keys-20260902T120000Z-000000000007.annals", "keys-20261030T120000Z-000000000007.annals",
	}, old); diff != "" {
		t.Error(diff)
	}
	must(t, backup.Remove(dir, old))
	left, err := os.ReadDir(dir)
	must(t, err)
	if len(left) != len(names)-len(old) {
		t.Errorf("%d files are left of %d", len(left), len(names))
	}
	// The newest of each kind stays, however old it is.
	old, err = backup.Old(dir, keep, now.AddDate(10, 0, 0))
	must(t, err)
	for _, name := range old {
		if name == "data-20261129T120000Z-000000000007.annals" || name == "keys-20261129T120000Z-000000000007.annals" {
			t.Errorf("%s is the newest", name)
		}
	}
}

func TestPublicOf(t *testing.T) {
	t.Parallel()
	for range 50 { // some have a plus in their base64
		private, public, err := note.GenerateKey(rand.Reader, "annals")
		must(t, err)
		if got, err := backup.PublicOf(private + "\n"); got != public || err != nil {
			t.Errorf("got %s, want %s, %v", got, public, err)
		}
		if _, err := backup.PublicOf(public); err == nil {
			t.Error("a public key is taken for a private one")
		}
	}
}
