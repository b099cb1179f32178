package scan

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// heapFile opens a file in memory, which has no name and goes with the process.
func heapFile() (f *os.File, stray string, err error) {
	fd, err := unix.MemfdCreate("annals-heap", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, "", fmt.Errorf("open a file in memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "heap"), "", nil
}
