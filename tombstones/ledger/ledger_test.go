package ledger_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/tombstones/ledger"
)

func missing(err error) (string, bool) {
	e, is := errors.AsType[*natslog.StreamError](err)
	if !is || e.Setting != "" {
		return "", false
	}
	return e.Stream, true
}

// TestProve proves every kind of position, before and after it is erased, and
// that a proof of anything else does not verify.
func TestProve(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	l := w.mustOpen(t)
	const n = 1300
	w.capture(t, n)
	if _, err := l.Prove(t.Context(), 1); !errors.Is(err, ledger.ErrNotCovered) {
		t.Errorf("before a checkpoint: %v", err)
	}
	checkpoint(t, l)
	public, err := ledger.LoadVerifier(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	prove := func(position uint64) ledger.Proof {
		t.Helper()
		p, err := l.Prove(t.Context(), position)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.Verify(public); err != nil || c.Size != n {
			t.Errorf("position %d: %v, size %d", position, err, c.Size)
		}
		return p
	}
	for _, p := range []uint64{1, 2, 255, 256, 257, 512, 1000, 1001, 1280, 1281, n} {
		prove(p)
	}
	for _, p := range []uint64{0, n + 1} {
		if _, err := l.Prove(t.Context(), p); !errors.Is(err, ledger.ErrNotCovered) {
			t.Errorf("position %d: %v", p, err)
		}
	}
	before := prove(700)
	if err := l.Erased(t.Context(), ledger.Erased{Tenant: "acme", Erasure: "x", Positions: []uint64{700}}); err != nil {
		t.Fatal(err)
	}
	if err := w.streams.Eraser().SecureDelete(t.Context(), 700); err != nil {
		t.Fatal(err)
	}
	checkpoint(t, l)
	if !l.IsErased(700) || l.IsErased(701) {
		t.Error("what is erased is not known")
	}
	after := prove(700)
	after.Checkpoint = before.Checkpoint // signed at another time, of the same tree
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the proof of an erased position changed: %s", diff)
	}
	for name, spoil := range map[string]func(p *ledger.Proof){
		"position": func(p *ledger.Proof) { p.Position++ },
		"leaf":     func(p *ledger.Proof) { p.LeafHash = strings.Repeat("00", 32) },
		"hash":     func(p *ledger.Proof) { p.Hashes[3] = p.Hashes[2] },
		"size":     func(p *ledger.Proof) { p.TreeSize-- },
		"note":     func(p *ledger.Proof) { p.Checkpoint = strings.Replace(p.Checkpoint, "\n1300\n", "\n1301\n", 1) },
	} {
		p := prove(700)
		p.Hashes = slices.Clone(p.Hashes)
		spoil(&p)
		if _, err := p.Verify(public); !errors.Is(err, ledger.ErrBadProof) {
			t.Errorf("another %s: %v", name, err)
		}
	}
}

// TestReopen holds that what a ledger knows is known after a restart, at sizes
// around those of blocks and records.
func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var total uint64
	for _, n := range []int{0, 1, 254, 1, 1, 743, 1, 2047} {
		w := mustOpenLog(t, dir)
		l := w.mustOpen(t)
		if l.Covered() != total {
			t.Errorf("%d positions are covered, want %d", l.Covered(), total)
		}
		w.capture(t, n)
		total += uint64(n)
		checkpoint(t, l)
		signed, err := l.Signed(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c, err := ledger.OpenCheckpoint(l.Verifier(), signed)
		if err != nil || c.Size != total {
			t.Errorf("checkpoint of %d positions, want %d: %v", c.Size, total, err)
		}
		if a, _, err := ledger.Anchor(dir); err != nil || a != c {
			t.Errorf("the anchor is %v, %v, want %v", a, err, c)
		}
		w.mustClose(t)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	l := w.mustOpen(t)
	var list []ledger.Tombstone
	for i := range 2500 {
		tenant := "acme"
		if i >= 1500 {
			tenant = "globex"
		}
		list = append(list, ledger.Tombstone{
			Tenant: tenant, Kind: events.KindFact, Aggregate: "slot", Record: "f", Subject: "s", Erasure: "x", Position: uint64(i + 1),
		})
	}
	if err := l.Record(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	var got []ledger.Tombstone
	for e, err := range l.Tombstones(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if diff := cmp.Diff(list, got); diff != "" {
		t.Error(diff)
	}
	if state, err := w.streams.Ledger().State(t.Context()); err != nil || state.Last != 3 {
		t.Errorf("%d records, want 3: %v", state.Last, err)
	}
	if _, err := l.Receipt(t.Context(), "x"); !errors.Is(err, ledger.ErrNoReceipt) {
		t.Errorf("no receipt: %v", err)
	}
	for _, text := range []string{"first\n", "second\n"} {
		signed, err := l.Sign(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.KeepReceipt(t.Context(), "x", signed); err != nil {
			t.Fatal(err)
		}
		kept, err := l.Receipt(t.Context(), "x")
		if err != nil || !bytes.Equal(kept, signed) {
			t.Errorf("another receipt came back: %v", err)
		}
	}
	w.capture(t, 2)
	for _, p := range []uint64{0, 1, 2} {
		if err := l.Erased(t.Context(), ledger.Erased{Tenant: "acme", Erasure: "x", Positions: []uint64{p}}); !errors.Is(err, ledger.ErrNotCovered) {
			t.Errorf("erased position %d: %v", p, err)
		}
	}
	checkpoint(t, l)
	if err := l.Check(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestRun holds that checkpoints come by themselves, and that damage ends the
// run.
func TestRun(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	l := w.mustOpen(t)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(t.Context()) }()
	w.capture(t, 1000) // due at once
	wait(t, func() bool { return l.Covered() == 1000 })
	w.capture(t, 1)
	wait(t, func() bool { return l.Covered() == 1001 })
	w.capture(t, 2)
	if err := w.streams.Eraser().SecureDelete(t.Context(), 1002); err != nil {
		t.Fatal(err)
	}
	wantDamage(t, <-ended, ledger.KindLogHole)
}

// TestTwoScribes runs two ledgers, with a directory each, on one log.
func TestTwoScribes(t *testing.T) {
	t.Parallel()
	w := mustOpenLog(t, t.TempDir())
	first := w.mustOpen(t)
	w.capture(t, 10)
	checkpoint(t, first)
	config := w.config()
	config.Dir = t.TempDir()
	if _, err := ledger.Open(t.Context(), config, nil); err == nil {
		t.Fatal("a directory without an anchor began on a ledger that has records")
	} else {
		wantDamage(t, err, ledger.KindAnchorMissing)
	}
	config.Join = true
	second, err := ledger.Open(t.Context(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, l := range []*ledger.Ledger{first, second} {
		wg.Go(func() {
			if err := l.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := l.Checkpoint(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		w.capture(t, 130)
	}
	const all = 10 + 20*130
	wait(t, func() bool { return first.Covered() == all && second.Covered() == all })
	cancel()
	wg.Wait()
	for _, l := range []*ledger.Ledger{first, second} {
		checkpoint(t, l)
		if err := l.Check(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	a, _, errA := ledger.Anchor(w.dir)
	b, _, errB := ledger.Anchor(config.Dir)
	if err := errors.Join(errA, errB); err != nil || a != b {
		t.Errorf("two anchors of one log: %v, %v, %v", a, b, err)
	}
	// The other's checkpoints are behind this anchor, and it opens all the same.
	w.capture(t, 5)
	checkpoint(t, second)
	if _, err := ledger.Open(t.Context(), w.config(), nil); err != nil {
		t.Error(err)
	}
}

// TestEpoch takes the tree back to sizes within and at the end of a block, and
// has it go on.
func TestEpoch(t *testing.T) {
	t.Parallel()
	dir := made(t, 900)
	for i, size := range []uint64{900, 700, 512, 300, 0} {
		w := mustOpenLog(t, dir)
		l := w.mustOpen(t)
		if err := l.NewEpoch(t.Context(), size); err != nil {
			t.Fatal(err)
		}
		if c, _, err := ledger.Anchor(dir); err != nil || c.Size != size || c.Epoch != uint64(i+1) {
			t.Errorf("anchor %v, %v", c, err)
		}
		checkpoint(t, l)
		w.mustClose(t)
		w = mustOpenLog(t, dir)
		l = w.mustOpen(t)
		for _, p := range []uint64{1, 256, 300, 301, 513, 900} {
			proof, err := l.Prove(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := proof.Verify(l.Verifier()); err != nil {
				t.Errorf("position %d after an epoch: %v", p, err)
			}
		}
		w.mustClose(t)
	}
}

// TestStarts holds which parts may be missing at a start.
func TestStarts(t *testing.T) {
	t.Parallel()
	dir := made(t, 300, 7)
	if err := opening(t, copied(t, dir)); err != nil {
		t.Fatalf("a copy that is as it was: %v", err)
	}
	remove := func(names ...string) string {
		c := copied(t, dir)
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(c, name)); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	events := filepath.Join(logDir, "jetstream", "$G", "streams", "EVENTS")
	records := filepath.Join(logDir, "jetstream", "$G", "streams", "LEDGER")
	keys := filepath.Join(logDir, "jetstream", "$G", "streams", "KEYS")
	for name, c := range map[string]struct {
		dir  string
		want ledger.Kind
	}{
		"no anchor":            {remove("anchor"), ledger.KindAnchorMissing},
		"no anchor and no key": {remove("anchor", "ledger.key", "ledger.pub"), ledger.KindAnchorMissing},
		"no key":               {remove("ledger.key"), ledger.KindKeyMissing},
		"no ledger, no anchor": {remove(records, "anchor"), ledger.KindAnchorMissing},
		"no ledger":            {remove(records), ledger.KindStreamMissing},
		"no events":            {remove(events), ledger.KindStreamMissing},
		"no keys":              {remove(keys), ledger.KindStreamMissing},
		"no log":               {remove(logDir), ledger.KindStreamMissing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantDamage(t, opening(t, c.dir), c.want)
		})
	}
	t.Run("a log from before there was a ledger", func(t *testing.T) {
		t.Parallel()
		c := remove(records, "anchor", "ledger.key", "ledger.pub")
		wantDamage(t, opening(t, c), ledger.KindLogHole) // nothing tells of the one that was erased
		c = t.TempDir()
		w := mustOpenLog(t, c)
		w.capture(t, 20)
		l := w.mustOpen(t)
		checkpoint(t, l)
		if l.Covered() != 20 {
			t.Errorf("%d positions are covered", l.Covered())
		}
	})
}
