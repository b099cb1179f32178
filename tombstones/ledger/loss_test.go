package ledger_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// TestLoss takes whole parts of a log's files away.
func TestLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := mustOpenLog(t, dir)
	l := w.mustOpen(t)
	for i := range 20 { // two blocks of 8 MB and a part
		c := eventstest.Episode(fmt.Sprintf("large-%d", i), func(e *events.EpisodeCaptured) { e.Content = make([]byte, 1<<20) })
		if _, err := w.streams.Log().Append(t.Context(), c, events.ExpectNew); err != nil {
			t.Fatal(err)
		}
	}
	w.keep(t, 10)
	checkpoint(t, l)
	w.mustClose(t)
	if n := len(blocks(t, dir, "EVENTS")); n < 3 {
		t.Fatalf("only %d blocks", n)
	}
	if err := opening(t, copied(t, dir)); err != nil {
		t.Fatalf("a copy that is as it was: %v", err)
	}
	truncate := func(name string, block int, part float64) func(string) error {
		return func(c string) error {
			file := blocks(t, c, name)[block]
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			return os.Truncate(file, int64(part*float64(info.Size())))
		}
	}
	remove := func(block int) func(string) error {
		return func(c string) error { return os.Remove(blocks(t, c, "EVENTS")[block]) }
	}
	for name, spoil := range map[string]func(string) error{
		"the first block ends early":  truncate("EVENTS", 0, 0.7),
		"the second block ends early": truncate("EVENTS", 1, 0.5),
		"the last block ends early":   truncate("EVENTS", 2, 0.9),
		"the last block is empty":     truncate("EVENTS", 2, 0),
		"the first block is gone":     remove(0),
		"the second block is gone":    remove(1),
		"the last block is gone":      remove(2),
		"the keys end early":          truncate("KEYS", 0, 0.5),
		"the ledger ends early":       truncate("LEDGER", 0, 0.5),
	} {
		for _, index := range []bool{true, false} {
			if index && name == "the keys end early" {
				continue // what is missing then is loud when it is needed: see the package comment
			}
			t.Run(fmt.Sprintf("%s, index %v", name, index), func(t *testing.T) {
				t.Parallel()
				c := copied(t, dir)
				if err := spoil(c); err != nil {
					t.Fatal(err)
				}
				if !index {
					for _, s := range []string{"EVENTS", "KEYS", "LEDGER"} {
						dropIndex(t, c, s)
					}
				}
				code, said, err := inChild(t.Context(), c)
				if err != nil || code == childServes {
					t.Errorf("exit %d %s %v", code, said, err)
				}
			})
		}
	}
}

// TestRewound puts older copies of the log's folder beside a newer anchor, and
// older anchors beside a newer log, as a crash between the two leaves them.
func TestRewound(t *testing.T) {
	t.Parallel()
	old := made(t, 100)
	newer := copied(t, old)
	w := mustOpenLog(t, newer)
	l := w.mustOpen(t)
	w.capture(t, 50)
	checkpoint(t, l)
	w.mustClose(t)
	swap := func(file string) string {
		c := copied(t, newer)
		if err := os.RemoveAll(filepath.Join(c, file)); err != nil {
			t.Fatal(err)
		}
		from := filepath.Join(old, file)
		info, err := os.Stat(from)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			err = os.CopyFS(filepath.Join(c, file), os.DirFS(from))
		} else {
			var b []byte
			if b, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(filepath.Join(c, file), b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const streams = logDir + "/jetstream/$G/streams/"
	wantDamage(t, opening(t, swap(logDir)), ledger.KindLogShort)
	wantDamage(t, opening(t, swap(streams+"EVENTS")), ledger.KindLogShort)
	wantDamage(t, opening(t, swap(streams+"LEDGER")), ledger.KindLedgerShort)
	if err := opening(t, swap("anchor")); err != nil {
		t.Errorf("an anchor that is behind its log: %v", err)
	}
	// The same in a log that grew again after it was put back.
	c := swap(logDir)
	w = mustOpenLog(t, c)
	w.capture(t, 80)
	_, err := ledger.Open(t.Context(), w.config(), nil)
	wantDamage(t, err, ledger.KindLedgerShort)
}

// altered is a log in which one message is not the one that was there.
type altered struct {
	ledger.Log

	at     uint64
	change func(*events.Message)
}

func (l altered) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range l.Log.Follow(ctx, after) {
			if m.Position == l.at {
				l.change(&m)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// TestAltered changes every part of a message that the tree covers.
func TestAltered(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, made(t, 300))
	config := w.config()
	for name, change := range map[string]func(*events.Message){
		"subject":      func(m *events.Message) { m.Subject += "0" },
		"data":         func(m *events.Message) { m.Data[len(m.Data)/2] ^= 1 },
		"id":           func(m *events.Message) { m.Header.ID += "0" },
		"time":         func(m *events.Message) { m.Header.Time = m.Header.Time.Add(1) },
		"principal":    func(m *events.Message) { m.Header.Principal += "0" },
		"trace parent": func(m *events.Message) { m.Header.TraceParent += "0" },
		"types":        func(m *events.Message) { m.Header.Types = append(m.Header.Types, "x") },
		"recorded at":  func(m *events.Message) { m.RecordedAt = m.RecordedAt.Add(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, at := range []uint64{1, 256, 257, 300} {
				c := config
				c.Log = altered{config.Log, at, change}
				_, err := ledger.Open(t.Context(), c, nil)
				wantDamage(t, err, ledger.KindLogDiffers)
			}
		})
	}
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		c := config
		c.Log = altered{config.Log, 1, func(*events.Message) {}}
		if _, err := ledger.Open(t.Context(), c, nil); err != nil {
			t.Error(err)
		}
	})
}

// TestHole deletes a message without a word to the ledger.
func TestHole(t *testing.T) {
	t.Parallel()
	for name, position := range map[string]uint64{"first": 1, "middle": 30, "erased before": 7, "last": 50} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := made(t, 50, 7)
			w := mustOpenLog(t, dir)
			if err := w.streams.Eraser().SecureDelete(t.Context(), position); err != nil {
				t.Fatal(err)
			}
			l, err := ledger.Open(t.Context(), w.config(), nil)
			if position == 7 {
				if err != nil {
					t.Fatal(err)
				}
				err = l.Check(t.Context(), nil)
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantDamage(t, err, ledger.KindLogHole)
		})
	}
}

// TestErasedTail deletes the last messages, as they may be, so that nothing is
// left to wait for at the end.
func TestErasedTail(t *testing.T) {
	t.Parallel()
	dir := made(t, 30, 28, 29, 30)
	if err := opening(t, dir); err != nil {
		t.Fatal(err)
	}
	w := mustOpenLog(t, dir)
	l := w.mustOpen(t)
	w.capture(t, 1)
	checkpoint(t, l)
	if err := l.Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// tampered is a store with records that are not those that were written.
type tampered struct {
	ledger.Store

	change func(*events.Message)
}

func (s tampered) Read(ctx context.Context, subject string, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range s.Store.Read(ctx, subject, after) {
			if err == nil {
				s.change(&m)
			}
			if !yield(m, err) {
				return
			}
		}
	}
}

// TestTampered changes what a record says, in ways that decode.
func TestTampered(t *testing.T) {
	t.Parallel()
	dir := made(t, 300, 7)
	w := mustOpenLog(t, dir)
	change := func(subject, from, to string) func(*events.Message) {
		return func(m *events.Message) {
			if strings.HasPrefix(m.Subject, subject) {
				m.Data = []byte(strings.Replace(string(m.Data), from, to, 1))
			}
		}
	}
	config := w.config()
	if _, err := ledger.Open(t.Context(), config, nil); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(*events.Message){
		"a leaf":             change("tree", `"leaves":"`, `"leaves":"AAAA`),
		"a note":             change("tree", `annals/`, `annals/x`),
		"a size":             change("tree", `"size":300`, `"size":299`),
		"an epoch":           change("tree", `"epoch":0`, `"epoch":1`),
		"no JSON":            change("tree", `{`, `[`),
		"an unknown member":  change("erased", `{`, `{"more":1,`),
		"an erased position": change("erased", "7", "8"),
		"a tombstone":        change("tombstone", `"erasure":"x"`, `"erasure":"y"`),
		"a hold's end":       change("subject", `"released"`, `"held"`),
		"no change":          change("subject", `"released"`, `"lost"`),
		"a tombstone's tenant": func(m *events.Message) {
			m.Subject = strings.Replace(m.Subject, "tombstone.acme", "tombstone.globex", 1)
		},
		"a record's time":       func(m *events.Message) { m.RecordedAt = m.RecordedAt.Add(1) },
		"another kind of thing": func(m *events.Message) { m.Subject = strings.Replace(m.Subject, "tombstone", "word", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config
			c.Store = tampered{config.Store, f}
			_, err := ledger.Open(t.Context(), c, nil)
			wantDamage(t, err, ledger.KindLedgerDiffers)
		})
	}
}

// TestAnchor changes the anchor, or takes another's.
func TestAnchor(t *testing.T) {
	t.Parallel()
	dir := made(t, 30)
	anchor, err := os.ReadFile(filepath.Join(dir, "anchor"))
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte) func(c string) error {
		return func(c string) error { return os.WriteFile(filepath.Join(c, name), b, 0o600) }
	}
	other := made(t, 30)
	take := func(names ...string) func(c string) error {
		return func(c string) error {
			for _, name := range names {
				b, err := os.ReadFile(filepath.Join(other, name))
				if err != nil {
					return err
				}
				if err := put(name, b)(c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		spoil func(string) error
		want  ledger.Kind
	}{
		"fewer positions":   {put("anchor", []byte(strings.Replace(string(anchor), "\n30\n", "\n29\n", 1))), ledger.KindAnchorInvalid},
		"fewer tombstones":  {put("anchor", []byte(strings.Replace(string(anchor), "tombstones 1", "tombstones 0", 1))), ledger.KindAnchorInvalid},
		"no signature":      {put("anchor", anchor[:len(anchor)-40]), ledger.KindAnchorInvalid},
		"nothing in it":     {put("anchor", nil), ledger.KindAnchorInvalid},
		"another's":         {take("anchor"), ledger.KindAnchorInvalid},
		"another's with it": {take("anchor", "ledger.key", "ledger.pub"), ledger.KindOtherLog},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := copied(t, dir)
			if err := c.spoil(d); err != nil {
				t.Fatal(err)
			}
			wantDamage(t, opening(t, d), c.want)
		})
	}
}
