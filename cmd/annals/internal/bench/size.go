package bench

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// size measures what the memories cost on disk and in memory.
func (b *bench) size(context.Context) error {
	suffix := ""
	if b.standIn {
		suffix = standInVectors
	}
	var bytes int64
	memories := int(b.memories.Load())
	err := filepath.WalkDir(b.dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err //nolint:wrapcheck // It is wrapped below.
	})
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	b.r["disk_per_memory"+suffix] = Figure{Bytes: float64(bytes) / float64(memories), N: memories}
	runtime.GC()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil // Only Linux tells; elsewhere there is no figure.
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return fmt.Errorf("measure: %w", err)
			}
			b.r["resident"+suffix] = Figure{Bytes: kib * 1024}
			b.r["resident_per_memory"+suffix] = Figure{Bytes: kib * 1024 / float64(memories), N: memories}
		}
	}
	return nil
}
