package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	nameTime = "20060102T150405Z"
	suffix   = ".annals"
)

// FileName is the name of an artefact in a directory: kind, time and position, so
// that of one kind the newest is the last.
func FileName(m Manifest) string {
	return fmt.Sprintf("%s-%s-%012d%s", m.Kind, m.MadeAt.UTC().Format(nameTime), m.Last, suffix)
}

// parseName returns kind and time of a file that [FileName] named.
func parseName(name string) (Kind, time.Time, bool) {
	kind, rest, _ := strings.Cut(name, "-")
	at, last, isOurs := strings.Cut(rest, "-")
	k, err := ParseKind(kind)
	if err != nil || !isOurs || !strings.HasSuffix(last, suffix) {
		return "", time.Time{}, false
	}
	t, err := time.Parse(nameTime, at)
	return k, t, err == nil
}

// Old returns the names of the artefacts of a directory that are older than their
// kind is kept, in order. A kind without an entry in keep, and the newest artefact
// of each kind, is always kept, and so is every other file.
func Old(dir string, keep map[Kind]time.Duration, now time.Time) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list artefacts: %w", err)
	}
	newest := map[Kind]time.Time{}
	for _, e := range entries {
		if k, at, ok := parseName(e.Name()); ok && at.After(newest[k]) {
			newest[k] = at
		}
	}
	var old []string
	for _, e := range entries {
		k, at, ok := parseName(e.Name())
		period, bounded := keep[k]
		if ok && bounded && e.Type().IsRegular() && at.Before(newest[k]) && now.Sub(at) > period {
			old = append(old, e.Name())
		}
	}
	slices.Sort(old)
	return old, nil
}

// Remove removes files of a directory. That one is gone is no error.
func Remove(dir string, names []string) error {
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove artefact: %w", err)
		}
	}
	return nil
}
