package disk_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/annals-memory/annals/events/disk"
)

func TestSyncDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := disk.SyncDir(dir); err != nil {
		t.Error(err)
	}
	if err := disk.SyncDir(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
