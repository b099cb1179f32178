package projectors

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/events"
)

// onDisk counts the files under a folder that hold a sequence of bytes.
func onDisk(t *testing.T, fs vfs.FS, dir string, canary []byte) (n int) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		if err != nil {
			continue // it went meanwhile
		}
		if info.IsDir() {
			n += onDisk(t, fs, path, canary)
			continue
		}
		file, err := fs.Open(path)
		if err != nil {
			continue
		}
		b, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, canary) {
			n++
		}
	}
	return n
}

// canaries are sealed contents, which no compression changes, by what they are in.
type canaries struct{ trace, fact, episode []byte }

// plant writes records of a subject whose sealed contents can be looked for on disk.
func plant(t *testing.T, w *world, subject string) (canaries, captured) {
	t.Helper()
	e := w.capture(t, "acme", subject, "cello")
	p := w.proposal(t, "acme", subject, "city", "Berlin", day(1), e)
	w.promote(t, "acme", "city", p, since(day(1)))
	secret := make([]byte, 64)
	if _, err := rand.Read(secret); err != nil {
		t.Fatal(err)
	}
	w.append(t, "acme", events.KindTrace, events.SharedID, events.TraceRecalled{
		Trace: w.id("trace"), Subject: e.sid, Class: "c", Content: secret,
	})
	w.embed(t, "acme", e.sid, e.class, e.id, events.KindEpisode, unit(uint64(w.n), 8))
	// A piece of each, so that what a block shares with its neighbours does not hide it.
	return canaries{trace: secret[16:48], fact: p.Content[20:52], episode: e.event.Content[20:52]}, e
}

func (c canaries) onDisk(t *testing.T, v *Views) [3]int {
	t.Helper()
	fs := v.cfg.FS
	return [3]int{
		onDisk(t, fs, "views", c.trace), onDisk(t, fs, "views", c.fact), onDisk(t, fs, "views", c.episode),
	}
}

// settleDown writes all views out and compacts them, as happens sooner or later by itself.
func settleDown(t *testing.T, v *Views) {
	t.Helper()
	for _, l := range v.lanes {
		if err := l.serving.db.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := l.serving.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPurge holds that what was forgotten is in no file after a purge, even if a reader kept it at the bottom of the store
// through a compaction, and that what lives is untouched.
func TestPurge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, subject := range []string{"ben", "cleo"} {
		for range 20 {
			w.capture(t, "acme", subject, "text")
		}
	}
	gone, _ := plant(t, w, "anna")
	stays, _ := plant(t, w, "dora")
	other := w.capture(t, "other", "anna", "another tenant")
	cfg := w.config(vfs.NewMem())
	cfg.PurgeWait = 50 * time.Millisecond
	v := start(t, cfg)
	defer v.close(t)
	v.waitFor(t, w.head)
	settleDown(t, v.Views)
	for i, n := range gone.onDisk(t, v.Views) {
		if n == 0 {
			t.Errorf("control: canary %d is not on disk", i)
		}
	}
	reader := snapshot(t, v.Views)
	w.forgetSubject(t, "acme", "anna")
	w.forgetEpisode(t, other)
	v.waitFor(t, w.head)
	settleDown(t, v.Views) // with a reader, who keeps what was deleted beside its deletion
	var open *OpenReadersError
	if err := v.Purge(t.Context()); !errors.As(err, &open) || open.Open != 1 {
		t.Errorf("purge with a reader: %v", err)
	}
	closeSnapshot(t, reader)
	settleDown(t, v.Views)
	if n := gone.onDisk(t, v.Views); n == [3]int{} {
		t.Errorf("control: a second compaction is enough: %v", n)
	}
	v.cfg.PurgeWait = 10 * time.Second
	if err := v.Purge(t.Context()); err != nil {
		t.Fatalf("purge: %v", err)
	}
	if n := gone.onDisk(t, v.Views); n != [3]int{} {
		t.Errorf("files with what is forgotten: %v", n)
	}
	for i, n := range stays.onDisk(t, v.Views) {
		if n == 0 {
			t.Errorf("what lives is gone: %d", i)
		}
	}
	checkViews(t, v.Views, w.model(t, w.head))
	before := tablesOf(t, v.Views)
	if err := v.Purge(t.Context()); err != nil {
		t.Fatalf("purge: %v", err)
	}
	if after := tablesOf(t, v.Views); after != before {
		t.Errorf("a purge of nothing writes")
	}
	for _, name := range []string{Facts, Memories, Traces} {
		if res, err := v.Verify(t.Context(), name, nil); err != nil || !res.OK {
			t.Errorf("verify: %+v %v", res, err)
		}
	}
}

// tablesOf counts what was written to tables.
func tablesOf(t *testing.T, v *Views) (n uint64) {
	t.Helper()
	for _, l := range v.lanes {
		m := l.serving.db.Metrics().Total()
		n += m.TablesFlushed + m.TablesCompacted
	}
	return n
}

// TestPurgeOfReplaced holds that a generation that was replaced, and that a reader keeps, is not forgotten by a purge.
func TestPurgeOfReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	populate(t, w)
	cfg := w.config(vfs.NewMem())
	cfg.PurgeWait = 20 * time.Millisecond
	v := start(t, cfg)
	defer v.close(t)
	v.waitFor(t, w.head)
	reader := snapshot(t, v.Views)
	if _, err := v.Replay(t.Context(), Facts, nil); err != nil {
		t.Fatal(err)
	}
	var open *OpenReadersError
	if err := v.Purge(t.Context()); !errors.As(err, &open) || open.Projection != Facts {
		t.Errorf("purge with a reader of what was replaced: %v", err)
	}
	closeSnapshot(t, reader)
	if err := v.Purge(t.Context()); err != nil {
		t.Errorf("purge: %v", err)
	}
}
