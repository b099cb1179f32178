package natslog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

// notes is a journal that can refuse, and asks whether what it is told of is there.
type notes struct {
	t      *testing.T
	keys   *natslog.Keys
	refuse error
	told   [][]uint64
	hashes map[uint64]seal.Mark
}

func (n *notes) RemoveKeys(ctx context.Context, r seal.Removal) error {
	var list []uint64
	for _, m := range r.Marks {
		list = append(list, m.Revision)
		if want := n.hashes[m.Revision]; m != want {
			n.t.Errorf("mark of %d: %x, want %x", m.Revision, m.Hash, want.Hash)
		}
		if there, err := n.keys.HasRevision(ctx, m.Revision); err != nil || !there {
			n.t.Errorf("%d is removed before it was told of: %v", m.Revision, err)
		}
	}
	n.told = append(n.told, list)
	return n.refuse
}

// TestKeysJournal: what is removed is told of before, together, with the mark of what
// is there; and nothing goes that a journal does not take.
func TestKeysJournal(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	plain := fresh(t, natslog.DurabilityProcess).Keys()
	var rows []seal.Row
	for i := range 20 {
		rows = append(rows, seal.Row{Key: fmt.Sprintf("k3.t.r%d", i), Value: []byte{byte(i)}})
	}
	if err := plain.Create(ctx, rows...); err != nil {
		t.Fatal(err)
	}
	n := &notes{t: t, keys: plain, hashes: map[uint64]seal.Mark{}}
	for row, err := range plain.ReadRows(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n.hashes[row.Revision] = seal.MarkOf(row)
	}
	keys := plain.Journaled(n)
	at := func(i int) seal.Row {
		row, err := plain.Get(ctx, rows[i].Key)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	for _, c := range []struct {
		name   string
		remove func() error
		want   [][]uint64
	}{
		{"destroy one", func() error { return keys.Destroy(ctx, rows[0].Key) }, [][]uint64{{1}}},
		{"destroy some", func() error { return keys.Destroy(ctx, rows[1].Key, rows[2].Key, "k3.t.none") }, [][]uint64{{2, 3}}},
		{"destroy none", func() error { return keys.Destroy(ctx, "k3.t.none") }, nil},
		{"destroy at", func() error { return keys.DestroyAt(ctx, at(3)) }, [][]uint64{{4}}},
		{"discard", func() error { return keys.Discard(ctx, at(4), at(5)) }, [][]uint64{{5, 6}}},
		{"replace", func() error { return keys.Replace(ctx, at(6), at(7)) }, [][]uint64{{7, 8}}},
		{"put", func() error { _, err := keys.Put(ctx, at(8)); return err }, [][]uint64{{9}}},
		{"replace in vain", func() error {
			if err := keys.Replace(ctx, seal.Row{Key: rows[9].Key, Revision: 99}); !errors.Is(err, seal.ErrRowConflict) {
				return fmt.Errorf("replaced: %w", err)
			}
			return nil
		}, nil},
	} {
		before := map[uint64]bool{}
		for revision := range n.hashes {
			there, err := plain.HasRevision(ctx, revision)
			if err != nil {
				t.Fatal(err)
			}
			before[revision] = there
		}
		n.told, n.refuse = nil, errors.New("refused")
		if err := c.remove(); c.want != nil && !errors.Is(err, n.refuse) {
			t.Errorf("%s with a journal that refuses: %v", c.name, err)
		}
		for revision, was := range before {
			if there, err := plain.HasRevision(ctx, revision); err != nil || there != was {
				t.Errorf("%s: %d is gone, though the journal refused it: %v", c.name, revision, err)
			}
		}
		if c.name == "replace" || c.name == "put" {
			continue // what has taken the place is there
		}
		n.told, n.refuse = nil, nil
		if err := c.remove(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, n.told); diff != "" {
			t.Errorf("%s tells:\n%s", c.name, diff)
		}
		for _, list := range c.want {
			for _, revision := range list {
				if there, err := plain.HasRevision(ctx, revision); err != nil || there {
					t.Errorf("%s: %d is there still: %v", c.name, revision, err)
				}
			}
		}
	}
	// What was replaced and not removed is, by whoever ends the removal.
	if err := plain.Remove(ctx, true, 7, 8, 999); err != nil {
		t.Fatal(err)
	}
	if err := plain.Remove(ctx, false, 9, 0); err != nil {
		t.Fatal(err)
	}
	left := 0
	for row, err := range plain.ReadRows(ctx, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Revision < 10 {
			t.Errorf("%d is there", row.Revision)
		}
		left++
	}
	if left != 14 {
		t.Errorf("%d rows are left", left)
	}
}

// TestReadRows reads many rows, of which some are gone, from any place.
func TestReadRows(t *testing.T) {
	t.Parallel()
	keys := fresh(t, natslog.DurabilityProcess).Keys()
	const n = 3000
	for i := 0; i < n; i += seal.MaxCreate {
		rows := make([]seal.Row, seal.MaxCreate)
		for j := range rows {
			rows[j] = seal.Row{Key: fmt.Sprintf("k3.t.r%d", i+j), Value: []byte("wrapped")}
		}
		if err := keys.Create(t.Context(), rows...); err != nil {
			t.Fatal(err)
		}
	}
	if err := keys.Remove(t.Context(), true, 1, 2, 500, n-1, n); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[uint64]int{0: n - 5, 499: n - 499 - 3, n - 10: 8, n: 0} {
		last, got := after, 0
		for row, err := range keys.ReadRows(t.Context(), after) {
			if err != nil {
				t.Fatal(err)
			}
			if row.Revision <= last || row.Key != fmt.Sprintf("k3.t.r%d", row.Revision-1) {
				t.Fatalf("%s at %d after %d", row.Key, row.Revision, last)
			}
			last = row.Revision
			got++
		}
		if got != want {
			t.Errorf("after %d: %d rows, want %d", after, got, want)
		}
	}
}

// TestImplausibleBlock: no server is started on a block with a sequence that cannot
// be, and one is on what is merely cut off, and on what is whole.
func TestImplausibleBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(reached uint64) error {
		srv, err := natslog.StartServer(t.Context(), natslog.Options{
			Dir: dir, Durability: natslog.DurabilityProcess, Reached: map[string]uint64{natslog.PartKeys: reached},
		})
		if err != nil {
			return err
		}
		nc, err := srv.Connect(t.Context())
		if err == nil {
			var s *natslog.Streams
			if s, err = natslog.Open(t.Context(), nc, natslog.Config{CreateStreams: true}); err == nil {
				err = s.Keys().Create(t.Context(), seal.Row{Key: fmt.Sprintf("k3.t.r%d", reached), Value: []byte("wrapped")})
			}
			nc.Close()
		}
		return errors.Join(err, srv.Close())
	}
	for reached := range uint64(3) {
		if err := start(reached); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "KEYS", "msgs", "*.blk"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	second := int(binary.LittleEndian.Uint32(whole) &^ (1 << 31))
	for name, at := range map[string]int{"first": 8, "second": second + 8, "second's flags": second + 11} {
		b := append([]byte(nil), whole...)
		b[at] ^= 0x40
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		if bad, is := errors.AsType[*natslog.BlockError](start(3)); !is || bad.Part != natslog.PartKeys || bad.Stream != "KEYS" {
			t.Errorf("%s: started: %v", name, bad)
		}
	}
	for name, b := range map[string][]byte{"whole": whole, "cut": whole[:len(whole)-5], "cut in a head": whole[:second+9]} {
		if err := os.WriteFile(files[0], b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, is := errors.AsType[*natslog.BlockError](start(3)); is {
			t.Errorf("%s: not started", name)
		}
	}
}
