package residue_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/annals-memory/annals/cmd/annals/internal/residue"
	"github.com/annals-memory/annals/tombstones/scan"
)

// The scan's own control holds with tables, and a word is found in a real
// database, in every place, where its bytes do not show it.
func TestTables(t *testing.T) {
	t.Parallel()
	for name, compression := range map[string]*sstable.CompressionProfile{"snappy": sstable.SnappyCompression, "zstd": sstable.ZstdCompression} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			opts := &pebble.Options{DisableWAL: true, FormatMajorVersion: pebble.FormatNewest, Logger: quiet{}}
			opts.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.UniformDBCompressionSettings(compression) })
			db, err := pebble.Open(dir, opts)
			if err != nil {
				t.Fatal(err)
			}
			filler := bytes.Repeat([]byte("Quixotic zanzi "), 50)
			long := func(tail string) []byte { return append(bytes.Clone(filler), tail...) }
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			for i := range byte(50) {
				check(db.Set([]byte{'k', i}, filler, pebble.NoSync))
			}
			check(db.Set(long("zanzibarkey"), long("one"), pebble.NoSync))
			check(db.Set([]byte("m"), long("zanzibarvalue"), pebble.NoSync))
			check(db.Set([]byte("n"), long("zanzibarold"), pebble.NoSync))
			s := db.NewSnapshot() // so that what is hidden stays
			check(db.Delete([]byte("n"), pebble.NoSync))
			check(db.DeleteRange(long("zanzibarfrom"), long("zanzibarto"), pebble.NoSync))
			check(db.RangeKeySet([]byte("x"), []byte("y"), nil, long("zanzibarrange"), pebble.NoSync))
			check(db.Flush())
			check(s.Close())
			check(db.Close())
			words := []string{"zanzibarkey", "zanzibarvalue", "zanzibarold", "zanzibarfrom", "zanzibarto", "zanzibarrange", "zanzibarnowhere"}
			sc, err := scan.New(scan.Options{Words: words, Formats: []scan.Format{residue.Tables{}}, Random: rand.Reader})
			check(err)
			r, err := sc.Run(t.Context(), dir)
			check(err)
			found := make([]bool, len(words))
			for _, h := range r.Hits {
				found[h.Pattern] = found[h.Pattern] || h.In == scan.InPieces
			}
			for i, ok := range found {
				if ok != (i < len(words)-1) {
					t.Errorf("%s: found %v", words[i], ok)
				}
			}
			if r.Unpacked == 0 || len(r.Unread) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A table that was cut off or changed is not passed over.
func TestDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	values := make([][]byte, 300)
	for i := range values {
		values[i] = []byte{byte(i), byte(i >> 8), 1, 2, 3, 4}
	}
	if err := (residue.Tables{}).Plant(t.Context(), dir, values); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "000001.sst")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	unpack := func(b []byte) error {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return residue.Tables{}.Unpack(t.Context(), path, func([]byte) error { return nil })
	}
	if err := unpack(whole); err != nil {
		t.Fatalf("control: %v", err)
	}
	for _, cut := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		if err := unpack(whole[:cut]); err == nil {
			t.Errorf("cut at %d: no error", cut)
		}
	}
	for at := 0; at < len(whole); at += 101 {
		b := bytes.Clone(whole)
		b[at] ^= 0x55
		if err := unpack(b); err == nil {
			t.Errorf("changed at %d of %d: no error", at, len(whole))
		}
	}
	stop := errors.New("stop")
	if err := unpack(whole); err != nil {
		t.Fatal(err)
	}
	if err := (residue.Tables{}).Unpack(t.Context(), path, func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
	if err := (residue.Tables{}).Unpack(t.Context(), filepath.Join(dir, "absent.sst"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent: %v", err)
	}
}

// quiet drops what a store has to say.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) { panic("store cannot go on") }
