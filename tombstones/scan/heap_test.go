package scan_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/annals-memory/annals/tombstones/scan"
)

// What is in memory when it is dumped is found, in any of its encodings; what
// comes later is not; and nothing of the dump is left.
func TestHeap(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("TMP", tmp)
	there := "heap" + rand.Text()
	copies := [][]byte{[]byte("a " + there), []byte(`{"b":"` + strings.ToUpper(there) + `"}`)}
	d, err := scan.DumpHeap(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(copies)
	look := func(word string) scan.Heap {
		t.Helper()
		s, err := scan.New(scan.Options{Words: []string{word}, Random: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		h, err := s.Heap(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h := look(there); h.Found < len(copies)+1 || h.Bytes == 0 || h.Unread != "" {
		t.Errorf("control: what is there: %+v", h)
	}
	if h := look("heap" + rand.Text()); h.Found > 0 {
		t.Errorf("what came later: %+v", h)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	s, err := scan.New(scan.Options{Words: []string{"anything"}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heap(t.Context(), d); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a dump that was closed: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(tmp, "*")); err != nil || len(left) > 0 {
		t.Errorf("the dump has left %v: %v", left, err)
	}
}
