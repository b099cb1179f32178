//go:build !linux

package scan

import (
	"fmt"
	"os"
)

// heapFile opens a temporary file, which only this user may read. It loses its name
// at once where that can be done.
func heapFile() (f *os.File, stray string, err error) {
	if f, err = os.CreateTemp("", "annals-heap-"); err != nil {
		return nil, "", fmt.Errorf("open a temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return f, f.Name(), nil // it cannot be while the file is open
	}
	return f, "", nil
}
