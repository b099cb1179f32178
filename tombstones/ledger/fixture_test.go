package ledger_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

const logDir = "log"

// world is a data directory with a real log in it.
type world struct {
	dir     string
	server  *natslog.Server
	streams *natslog.Streams
	// rows are the keys; what is removed of them is told to the last ledger that
	// was opened.
	rows    *natslog.Keys
	closers []func()
}

// openLog starts the log of a directory as a node does: what is missing is made
// only while there is no anchor.
func openLog(ctx context.Context, dir string) (_ *world, err error) {
	w := &world{dir: dir}
	defer func() {
		if err != nil {
			_ = w.close() // the first error is the one to tell
		}
	}()
	anchored, err := ledger.Anchored(dir)
	if err != nil {
		return nil, err
	}
	reached := map[string]uint64{}
	if a, is := ledger.LastAnchor(dir); is {
		reached[natslog.PartData], reached[natslog.PartKeys], reached[natslog.PartLedger] = a.Size, a.Keys, a.Records
	}
	w.server, err = natslog.StartServer(ctx, natslog.Options{
		Dir: filepath.Join(dir, logDir), Durability: natslog.DurabilityProcess, Reached: reached,
	})
	if err != nil {
		return nil, err
	}
	nc, err := w.server.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w.closers = append(w.closers, nc.Close)
	if w.streams, err = natslog.Open(ctx, nc, natslog.Config{CreateStreams: !anchored}); err == nil {
		w.rows = w.streams.Keys()
	}
	return w, err
}

func (w *world) close() error {
	for _, c := range w.closers {
		c()
	}
	if w.server == nil {
		return nil
	}
	return w.server.Close()
}

func (w *world) config() ledger.Config {
	return ledger.Config{
		Log: w.streams.Log(), Keys: w.streams.Keys(), Store: w.streams.Ledger(), Dir: w.dir, Patience: 3 * time.Second, Rand: rand.Reader,
	}
}

func mustOpenLog(t *testing.T, dir string) *world {
	t.Helper()
	w, err := openLog(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if w.streams != nil {
			w.mustClose(t)
		}
	})
	return w
}

func (w *world) mustClose(t *testing.T) {
	t.Helper()
	if err := w.close(); err != nil {
		t.Error(err)
	}
	w.streams = nil
}

func (w *world) mustOpen(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), w.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.rows = w.streams.Keys().Journaled(l)
	return l
}

// capture appends n episodes.
func (w *world) capture(t *testing.T, n int) {
	t.Helper()
	log := w.streams.Log()
	state, err := log.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const most = events.MaxBatch
	for n > 0 {
		batch := make([]events.Pending, min(n, most))
		for i := range batch {
			batch[i] = events.Pending{Commit: eventstest.Episode(fmt.Sprintf("e-%d-%d", state.Last, n-i)), Expect: events.ExpectNew}
		}
		if _, err := log.AppendBatch(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		n -= len(batch)
	}
}

// keep makes and destroys key rows, the last one too.
func (w *world) keep(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		key := "k" + strconv.Itoa(i)
		if err := w.rows.Create(t.Context(), seal.Row{Key: key, Value: []byte("wrapped")}); err != nil {
			t.Fatal(err)
		}
		if i == n-1 {
			if err := w.rows.Destroy(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkpoint makes one.
func checkpoint(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	if err := l.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// made is a closed data directory whose ledger covers n episodes, of which
// those at erased are deleted as they may be.
func made(t *testing.T, n int, erased ...uint64) string {
	t.Helper()
	dir := t.TempDir()
	w := mustOpenLog(t, dir)
	l := w.mustOpen(t)
	w.capture(t, n)
	w.keep(t, 3)
	checkpoint(t, l)
	if err := l.Record(t.Context(), []ledger.Tombstone{{Tenant: "acme", Kind: events.KindEpisode, Aggregate: "e", Erasure: "x", Position: 1}}); err != nil {
		t.Fatal(err)
	}
	released := ledger.SubjectChange{Tenant: "acme", Subject: "s", What: ledger.WhatReleased, Token: "h", Position: 2}
	if err := l.RecordSubject(t.Context(), []ledger.SubjectChange{released}); err != nil {
		t.Fatal(err)
	}
	if len(erased) > 0 {
		if err := l.Erased(t.Context(), ledger.Erased{Tenant: "acme", Erasure: "x", Positions: erased}); err != nil {
			t.Fatal(err)
		}
		if err := w.streams.Eraser().SecureDelete(t.Context(), erased...); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint(t, l)
	w.mustClose(t)
	return dir
}

// copied is a copy of a closed directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// opening opens a directory's log and ledger and closes them again.
func opening(t *testing.T, dir string) error {
	t.Helper()
	_, err := openAndClose(t.Context(), dir)
	return err
}

// openAndClose returns a digest of the rows of the keys.
func openAndClose(ctx context.Context, dir string) (rows string, err error) {
	w, err := openLog(ctx, dir)
	if stream, missing := missing(err); missing {
		return "", &ledger.DamageError{Kind: ledger.KindStreamMissing, Stream: stream}
	}
	if block, is := errors.AsType[*natslog.BlockError](err); is {
		return "", &ledger.DamageError{Kind: ledger.KindBlockInvalid, Stream: block.Stream}
	}
	if err != nil {
		return "", err
	}
	if _, err = ledger.Open(ctx, w.config(), nil); err == nil {
		rows, err = rowsOf(ctx, w.rows)
	}
	if cerr := w.close(); err == nil {
		err = cerr
	}
	return rows, err
}

func wantDamage(t *testing.T, err error, want ledger.Kind) {
	t.Helper()
	d, is := ledger.AsDamage(err)
	switch {
	case !is:
		t.Errorf("got %v, want damage %s", err, want)
	case d.Kind != want:
		t.Errorf("got damage %s at %d, want %s", d.Kind, d.Position, want)
	}
}
