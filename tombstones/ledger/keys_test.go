package ledger_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// rowsOf is a digest of all rows that can be read: their keys, revisions and values.
func rowsOf(ctx context.Context, keys *natslog.Keys) (string, error) {
	var sum [32]byte
	n := 0
	for row, err := range keys.List(ctx, "") {
		if err != nil {
			return "", err
		}
		m := seal.MarkOf(row)
		for i, b := range m.Hash {
			sum[i] ^= b
		}
		n++
	}
	return fmt.Sprintf("%d rows %s", n, hex.EncodeToString(sum[:])), nil
}

func row(i, size int) seal.Row {
	return seal.Row{Key: fmt.Sprintf("k3.t.r%d", i), Value: []byte(strings.Repeat(fmt.Sprintf("wrapped %d ", i), size))}
}

// fill makes rows, and replaces, overwrites, destroys and discards some of them.
func (w *world) fill(t *testing.T, from, n, size int) {
	t.Helper()
	ctx := t.Context()
	for i := 0; i < n; i += 500 {
		var batch []seal.Row
		for j := i; j < min(n, i+500); j++ {
			batch = append(batch, row(from+j, size))
		}
		must(t, w.rows.Create(ctx, batch...))
	}
	get := func(i int) seal.Row {
		r, err := w.rows.Get(ctx, row(from+i, size).Key)
		must(t, err)
		return r
	}
	must(t, w.rows.Replace(ctx, get(1), get(2), get(3)))
	_, err := w.rows.Put(ctx, get(4))
	must(t, err)
	must(t, w.rows.Destroy(ctx, get(5).Key))
	must(t, w.rows.Destroy(ctx, get(6).Key, get(7).Key, "k3.t.none"))
	must(t, w.rows.DestroyAt(ctx, get(8)))
	must(t, w.rows.Discard(ctx, get(9), get(10)))
	must(t, w.rows.Create(ctx, row(from+5, size)))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// kept is a closed directory with n rows, and the digest of them.
func kept(t *testing.T, n, size int) (dir, digest string) {
	t.Helper()
	dir = t.TempDir()
	w := mustOpenLog(t, dir)
	l := w.mustOpen(t)
	w.capture(t, 5)
	w.fill(t, 0, n, size)
	checkpoint(t, l)
	w.fill(t, n, 20, size)
	checkpoint(t, l)
	digest, err := rowsOf(t.Context(), w.rows)
	must(t, err)
	w.mustClose(t)
	return dir, digest
}

// soundOrNoticed opens a directory in a process of its own: either damage is found,
// or all rows are what they were.
func soundOrNoticed(t *testing.T, dir, digest string) (noticed bool, said string) {
	t.Helper()
	code, said, err := inChild(t.Context(), dir)
	switch {
	case err != nil:
		t.Error(err)
	case code == childDamaged:
		return true, said
	case code != childServes:
		return false, fmt.Sprintf("exit %d: %s", code, said)
	case said != digest:
		t.Errorf("it serves %s, and there were %s", said, digest)
	}
	return false, said
}

// TestKeysSound opens what is as it was, more than once, with and without the index
// that the server keeps.
func TestKeysSound(t *testing.T) {
	t.Parallel()
	dir, digest := kept(t, 300, 20)
	for _, index := range []bool{true, false, true} {
		if !index {
			dropIndex(t, dir, "KEYS")
		}
		if noticed, said := soundOrNoticed(t, dir, digest); noticed || said != digest {
			t.Errorf("index %v: %s, want %s", index, said, digest)
		}
	}
	w := mustOpenLog(t, dir)
	l := w.mustOpen(t)
	must(t, l.Check(t.Context(), nil))
	must(t, l.CheckKeys(t.Context()))
	w.fill(t, 1000, 20, 20)
	must(t, l.CheckKeys(t.Context()))
	checkpoint(t, l)
	must(t, l.Check(t.Context(), nil))
}

// TestKeysBlocks loses, empties and cuts blocks of the keys, and puts older copies
// in their place. All of it is noticed, but for what changes no row.
func TestKeysBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := mustOpenLog(t, dir)
	l := w.mustOpen(t)
	w.capture(t, 5)
	const rows, size = 1500, 400
	w.fill(t, 0, rows, size)
	checkpoint(t, l)
	w.mustClose(t)
	old := copied(t, dir)
	w = mustOpenLog(t, dir)
	l = w.mustOpen(t)
	must(t, w.rows.Destroy(t.Context(), row(20, size).Key, row(21, size).Key))
	w.fill(t, rows, 100, size)
	checkpoint(t, l)
	digest, err := rowsOf(t.Context(), w.rows)
	must(t, err)
	w.mustClose(t)
	files := blocks(t, dir, "KEYS")
	if len(files) < 2 {
		t.Fatalf("%d blocks", len(files))
	}
	type spoil func(t *testing.T, dir, file string) error
	cut := func(part float64) spoil {
		return func(_ *testing.T, _, file string) error {
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			return os.Truncate(file, int64(part*float64(info.Size())))
		}
	}
	cases := map[string]spoil{
		"deleted": func(_ *testing.T, _, file string) error { return os.Remove(file) },
		"emptied": cut(0), "cut by half": cut(0.5), "cut at its end": cut(0.9999),
		"an older copy": func(t *testing.T, _, file string) error {
			t.Helper()
			b, err := os.ReadFile(filepath.Join(stream(old, "KEYS"), "msgs", filepath.Base(file)))
			if errors.Is(err, fs.ErrNotExist) {
				return os.Remove(file)
			}
			return errors.Join(err, os.WriteFile(file, b, 0o600))
		},
	}
	for name, do := range cases {
		for _, index := range []bool{true, false} {
			for i := range files {
				t.Run(fmt.Sprintf("%s/%d/index=%v", name, i, index), func(t *testing.T) {
					t.Parallel()
					c := copied(t, dir)
					must(t, do(t, c, blocks(t, c, "KEYS")[i]))
					if !index {
						dropIndex(t, c, "KEYS")
					}
					noticed, said := soundOrNoticed(t, c, digest)
					t.Log(noticed, said)
					if noticed && !strings.HasPrefix(said, "keys_") && !strings.HasPrefix(said, "stream_") {
						t.Errorf("it says %s", said)
					}
				})
			}
		}
	}
	for _, part := range []string{"all of it", "its blocks alone"} {
		t.Run("the older stream, "+part, func(t *testing.T) {
			t.Parallel()
			c := copied(t, dir)
			must(t, os.RemoveAll(stream(c, "KEYS")))
			must(t, os.CopyFS(stream(c, "KEYS"), os.DirFS(stream(old, "KEYS"))))
			if part != "all of it" {
				dropIndex(t, c, "KEYS")
			}
			if noticed, said := soundOrNoticed(t, c, digest); !noticed {
				t.Errorf("it serves %s", said)
			}
		})
	}
}

// TestKeysRisen puts a copy of the keys from before a destruction in place, when
// nothing was written since: nothing but what was destroyed tells.
func TestKeysRisen(t *testing.T) {
	t.Parallel()
	for name, settled := range map[string]bool{"destroyed long ago": true, "just destroyed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w := mustOpenLog(t, dir)
			l := w.mustOpen(t)
			w.fill(t, 0, 50, 20)
			checkpoint(t, l)
			w.mustClose(t)
			old := copied(t, dir)
			w = mustOpenLog(t, dir)
			l = w.mustOpen(t)
			must(t, w.rows.Destroy(t.Context(), row(20, 20).Key))
			if settled {
				checkpoint(t, l)
			}
			digest, err := rowsOf(t.Context(), w.rows)
			must(t, err)
			w.mustClose(t)
			must(t, os.RemoveAll(stream(dir, "KEYS")))
			must(t, os.CopyFS(stream(dir, "KEYS"), os.DirFS(stream(old, "KEYS"))))
			noticed, said := soundOrNoticed(t, dir, digest)
			if noticed != settled || noticed && said != string(ledger.KindKeysRisen) {
				t.Errorf("noticed %v: %s", noticed, said)
			}
		})
	}
}

var errCutShort = errors.New("cut short")

// cutJournal ends the process, as it were, when the ledger has acknowledged.
type cutJournal struct{ *ledger.Ledger }

func (j cutJournal) RemoveKeys(ctx context.Context, r seal.Removal) error {
	return errors.Join(j.Ledger.RemoveKeys(ctx, r), errCutShort)
}

// TestKeysRemovalCutOff names rows and does not remove them. The next start does.
func TestKeysRemovalCutOff(t *testing.T) {
	t.Parallel()
	for _, covered := range []bool{true, false} {
		for name, remove := range map[string]func(*natslog.Keys) error{
			"destroy": func(k *natslog.Keys) error { return k.Destroy(t.Context(), row(20, 20).Key, row(21, 20).Key) },
			"one":     func(k *natslog.Keys) error { return k.Destroy(t.Context(), row(20, 20).Key) },
			"discard": func(k *natslog.Keys) error {
				r, err := k.Get(t.Context(), row(20, 20).Key)
				return errors.Join(err, k.Discard(t.Context(), r))
			},
			"replace": func(k *natslog.Keys) error {
				r, err := k.Get(t.Context(), row(20, 20).Key)
				r.Value = []byte("another")
				return errors.Join(err, k.Replace(t.Context(), r))
			},
			"put": func(k *natslog.Keys) error {
				r, err := k.Get(t.Context(), row(20, 20).Key)
				r.Value = []byte("another")
				_, perr := k.Put(t.Context(), r)
				return errors.Join(err, perr)
			},
		} {
			t.Run(fmt.Sprintf("%s/%v", name, covered), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				w := mustOpenLog(t, dir)
				l := w.mustOpen(t)
				w.fill(t, 0, 30, 20)
				checkpoint(t, l)
				if err := remove(w.streams.Keys().Journaled(cutJournal{l})); !errors.Is(err, errCutShort) {
					t.Fatalf("removed: %v", err)
				}
				if covered {
					checkpoint(t, l)
				}
				w.mustClose(t)
				w = mustOpenLog(t, dir)
				l = w.mustOpen(t)
				r, err := w.rows.Get(t.Context(), row(20, 20).Key)
				if replaced := name == "replace" || name == "put"; replaced && (err != nil || string(r.Value) != "another") {
					t.Errorf("it is %q %v", r.Value, err)
				} else if !replaced && !errors.Is(err, seal.ErrNoRow) {
					t.Errorf("what was to be removed is there: %v", err)
				}
				checkpoint(t, l)
				must(t, l.Check(t.Context(), nil))
			})
		}
	}
}

// TestKeysLostWhileOpen removes a row behind the ledger's back.
func TestKeysLostWhileOpen(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	l := w.mustOpen(t)
	w.fill(t, 0, 30, 20)
	checkpoint(t, l)
	must(t, l.CheckKeys(t.Context()))
	must(t, w.streams.Keys().Destroy(t.Context(), row(20, 20).Key))
	wantDamage(t, l.CheckKeys(t.Context()), ledger.KindKeysLost)
	wantDamage(t, l.Check(t.Context(), nil), ledger.KindKeysLost)
	checkpoint(t, l) // it has seen it before
	must(t, w.rows.Create(t.Context(), row(100, 20)))
	must(t, w.streams.Keys().Destroy(t.Context(), row(100, 20).Key))
	wantDamage(t, l.Checkpoint(t.Context()), ledger.KindKeysLost)
}

// TestKeysOfSeveral has two processes write and remove rows at once, each with an
// anchor of its own, and opens the ledger of both again and again.
func TestKeysOfSeveral(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	w.mustOpen(t)
	second := w.config()
	second.Dir, second.Join = t.TempDir(), true
	configs := []ledger.Config{w.config(), second}
	done := make(chan error, len(configs))
	for i, c := range configs {
		l, err := ledger.Open(t.Context(), c, nil)
		must(t, err)
		go func() {
			done <- several(t.Context(), i, l, c, w.streams)
		}()
	}
	for range configs {
		must(t, <-done)
	}
	for _, c := range configs {
		l, err := ledger.Open(t.Context(), c, nil)
		must(t, err)
		checkpoint(t, l)
		must(t, l.Check(t.Context(), nil))
	}
}

func several(ctx context.Context, who int, l *ledger.Ledger, c ledger.Config, s *natslog.Streams) error {
	rows := s.Keys().Journaled(l)
	for n := range 12 {
		var batch []seal.Row
		for i := range 10 {
			batch = append(batch, seal.Row{Key: fmt.Sprintf("k3.t%d.n%d-%d", who, n, i), Value: []byte("wrapped")})
		}
		if err := rows.Create(ctx, batch...); err != nil {
			return err
		}
		stored, err := rows.GetMany(ctx, []string{batch[0].Key, batch[1].Key, batch[2].Key, batch[3].Key})
		if err != nil {
			return err
		}
		err = errors.Join(rows.Destroy(ctx, batch[5].Key, batch[6].Key), rows.Discard(ctx, stored[batch[0].Key], stored[batch[1].Key]),
			rows.Replace(ctx, stored[batch[2].Key], stored[batch[3].Key]))
		if err != nil {
			return err
		}
		switch n % 4 {
		case 0:
			err = l.Checkpoint(ctx)
		case 1:
			err = l.CheckKeys(ctx)
		case 2:
			if l, err = ledger.Open(ctx, c, nil); err == nil {
				rows = s.Keys().Journaled(l)
			}
		}
		if err != nil {
			return fmt.Errorf("round %d of %d: %w", n, who, err)
		}
	}
	return nil
}
