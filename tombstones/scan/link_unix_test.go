//go:build unix

package scan_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/tombstones/scan"
)

// A link is searched for what it points to and reported as not followed.
func TestLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/nowhere/Quixotic", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	r := run(t, dir, scan.Options{Words: []string{"Quixotic"}})
	if r.Found != 1 || r.Hits[0].In != scan.InName || len(r.Unread) != 1 {
		t.Errorf("%+v", r)
	}
}
