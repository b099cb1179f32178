// Package disk has what files need beyond their content to be there after a power cut.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// SyncDir returns when what was created, renamed or removed in a directory is on the
// disk. That of a file's content is for the file's own Sync.
func SyncDir(dir string) error {
	d, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync directory: %w", err)
	}
	return nil
}
