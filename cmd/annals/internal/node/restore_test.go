package node_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/backup"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// artefact takes one through the door and returns its path.
func (f *fixture) artefact(kind backup.Kind) string {
	f.t.Helper()
	b := f.do(f.LocalToken(), http.MethodGet, "/v1/backups/"+string(kind), nil, http.StatusOK).body
	return f.keep(string(kind), b)
}

func (f *fixture) keep(name string, b []byte) string {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// restoring are the options that put a node back from artefacts, with the keys
// that its operator has kept.
func (f *fixture) restoring(data, keys, records string) node.RestoreOptions {
	f.t.Helper()
	return node.RestoreOptions{
		Data: filepath.Join(f.t.TempDir(), "restored"), Inputs: backup.Inputs{Data: data, Keys: keys, Ledger: records},
		Root: filepath.Join(f.dir, "root.key"), Signer: filepath.Join(f.dir, "ledger.key"), Logger: slog.New(slog.DiscardHandler),
	}
}

// restored opens what was put back, as the same operator: tokens stay valid.
func (f *fixture) restored(o node.RestoreOptions) (*fixture, backup.Report) {
	f.t.Helper()
	r, err := node.Restore(f.t.Context(), o)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, name := range []string{"auth.key", "local.token"} {
		b, err := os.ReadFile(filepath.Join(f.dir, name))
		if err != nil {
			f.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.Data, name), b, 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	g := &fixture{t: f.t, dir: o.Data, options: node.Options{Data: o.Data, Durability: "process"}}
	g.start()
	f.t.Cleanup(func() {
		if g.Node != nil {
			g.close()
		}
	})
	return g, r
}

// elsewhere is what was planted, on another node.
func (p planted) elsewhere(f *fixture) planted {
	p.f = f
	return p
}

// TestRestoreOfAnOldBackup puts back data and keys that are older than two
// forgets, under the ledger of today: nothing of what was forgotten is on any read
// path, before the views are rebuilt and after, no key of it is there, and what
// was not forgotten is as it was.
func TestRestoreOfAnOldBackup(t *testing.T) {
	t.Parallel()
	f := open(t)
	acme, other := f.token("acme"), f.token("other")
	person := plant(f, acme, "maria", "zanzibarword")
	record := plant(f, acme, "jonas", "quetzalword")
	kept := plant(f, acme, "petra", "marigoldword")
	foreign := plant(f, other, "maria", "oleanderword")
	before, foreignBefore := kept.reads(), foreign.reads()
	if yes, _ := person.holds(person.reads()); len(yes) < 5 {
		t.Fatalf("only %v read what is there", yes)
	}
	data, keys := f.artefact(backup.KindData), f.artefact(backup.KindKeys)
	stale := f.artefact(backup.KindLedger)
	restoredTo := f.head()

	f.do(acme, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted)
	f.do(acme, http.MethodDelete, "/v1/episodes/"+record.episode, nil, http.StatusAccepted)
	f.capture(acme, "petra", "This is lost with the disk.")
	f.settle()
	// A forgotten record leaves the question of a recall as it was, which is a trace.
	left := map[string][]string{}
	for _, gone := range []planted{person, record} {
		left[gone.subject], _ = gone.holds(gone.reads())
	}
	if len(left[person.subject]) > 0 || len(left[record.subject]) > 1 {
		t.Fatalf("the forgets have left %v", left)
	}
	records := f.artefact(backup.KindLedger)
	known := f.head()
	anchor := filepath.Join(f.dir, "anchor")

	f.refusals(data, keys, records, stale, anchor)

	g, r := f.restored(f.restoring(data, keys, records))
	if r.Restored != restoredTo || r.Known < known || r.LostFrom != restoredTo+1 || r.LostTo != r.Known || r.Lost != r.Known-restoredTo ||
		r.Appended < 2 || r.Epoch != 1 || r.NewKey {
		t.Errorf("the report is %+v, with the log at %d then and at %d now", r, restoredTo, known)
	}
	for round := range 3 {
		g.settle()
		for _, gone := range []planted{person, record} {
			if yes, _ := gone.holds(gone.elsewhere(g).reads()); !slices.Equal(yes, left[gone.subject]) {
				t.Errorf("round %d: what was forgotten is read by %v", round, yes)
			}
			for _, id := range []string{gone.episode, gone.fact} {
				g.noKey("acme", id)
			}
		}
		same(t, kept, before, kept.elsewhere(g).reads())
		same(t, foreign, foreignBefore, foreign.elsewhere(g).reads())
		if a := g.compare(); get[string](a, "state") != "done" {
			t.Errorf("round %d: the log: %s", round, a.body)
		}
		switch round {
		case 0:
			g.replayAll()
		case 1:
			g.close()
			g.start()
		}
	}
	// The new epoch is one that is backed up and put back like any other.
	h, r := g.restored(g.restoring(g.artefact(backup.KindData), g.artefact(backup.KindKeys), g.artefact(backup.KindLedger)))
	if r.Lost != 0 || r.Appended != 0 || r.Epoch != 2 {
		t.Errorf("the second restore: %+v", r)
	}
	h.settle()
	if yes, _ := person.holds(person.elsewhere(h).reads()); len(yes) > 0 {
		t.Errorf("after the second restore: %v", yes)
	}
	same(t, kept, before, kept.elsewhere(h).reads())
}

// same holds that what could be read can be, of what was planted and not of the
// reads in between.
func same(t *testing.T, p planted, before, after map[string]answer) {
	t.Helper()
	was, _ := p.holds(before)
	is, _ := p.holds(after)
	slices.Sort(was)
	slices.Sort(is)
	if !slices.Equal(was, is) {
		t.Errorf("%s was read by %v and is read by %v", p.subject, was, is)
	}
}

// noKey holds that a record has no key any more.
func (f *fixture) noKey(tenant, id string) {
	f.t.Helper()
	tn, err := f.Keys().Tenant(f.t.Context(), tenant, false)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.Keys().Record(f.t.Context(), tn.Token(), id); !errors.Is(err, seal.ErrKeyDestroyed) {
		f.t.Errorf("a key of what was forgotten: %v", err)
	}
}

// replayAll replays every view and holds the digests against each other.
func (f *fixture) replayAll() {
	f.t.Helper()
	for _, s := range f.Views().Status(f.t.Context()) {
		a := f.operate(s.Projection, "replay")
		if get[string](a, "state") != "done" || get[string](a, "old_digest") != get[string](a, "new_digest") {
			f.t.Errorf("replay of %s: %s", s.Projection, a.body)
		}
	}
}

// refusals are the restores that must not begin. Nothing of them is left.
func (f *fixture) refusals(data, keys, records, stale, anchor string) {
	t := f.t
	t.Helper()
	signed, err := os.ReadFile(anchor)
	if err != nil {
		t.Fatal(err)
	}
	other := open(t)
	other.capture(other.LocalToken(), "maria", "Another memory.")
	altered := func(path string, at func(n int) int) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b[at(len(b))] ^= 1
		return f.keep("altered", b)
	}
	cut := func(path string, n int) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return f.keep("cut", b[:len(b)-n])
	}
	middle, end, begin := func(n int) int { return n / 2 }, func(n int) int { return n - 10 }, func(int) int { return 3 }
	for name, c := range map[string]struct {
		change func(*node.RestoreOptions)
		want   error
	}{
		"no ledger":                 {func(o *node.RestoreOptions) { o.Inputs.Ledger = "" }, backup.ErrNoLedger},
		"a ledger without the file": {func(o *node.RestoreOptions) { o.Inputs.Ledger += ".gone" }, fs.ErrNotExist},
		"a stale ledger, by an anchor": {func(o *node.RestoreOptions) {
			o.Inputs.Ledger, o.Inputs.Anchors = stale, [][]byte{signed}
		}, ledger.ErrStale},
		"a stale ledger, by the keys": {func(o *node.RestoreOptions) {
			o.Inputs.Ledger, o.Inputs.Keys = stale, f.artefact(backup.KindKeys)
		}, ledger.ErrStale},
		"keys older than the data": {func(o *node.RestoreOptions) {
			o.Inputs.Data, o.Inputs.Ledger = f.artefact(backup.KindData), f.artefact(backup.KindLedger)
		}, backup.ErrMixed},
		"altered data":                  {func(o *node.RestoreOptions) { o.Inputs.Data = altered(data, middle) }, backup.ErrArtefact},
		"altered keys":                  {func(o *node.RestoreOptions) { o.Inputs.Keys = altered(keys, middle) }, backup.ErrArtefact},
		"altered ledger":                {func(o *node.RestoreOptions) { o.Inputs.Ledger = altered(records, middle) }, backup.ErrArtefact},
		"altered signature":             {func(o *node.RestoreOptions) { o.Inputs.Ledger = altered(records, end) }, backup.ErrArtefact},
		"altered beginning":             {func(o *node.RestoreOptions) { o.Inputs.Data = altered(data, begin) }, backup.ErrArtefact},
		"cut manifest":                  {func(o *node.RestoreOptions) { o.Inputs.Data = cut(data, 1) }, backup.ErrArtefact},
		"cut snapshot":                  {func(o *node.RestoreOptions) { o.Inputs.Data = cut(data, 4000) }, backup.ErrArtefact},
		"the wrong kind":                {func(o *node.RestoreOptions) { o.Inputs.Data = keys }, backup.ErrArtefact},
		"another memory's keys":         {func(o *node.RestoreOptions) { o.Inputs.Keys = other.artefact(backup.KindKeys) }, backup.ErrMixed},
		"another memory's signer":       {func(o *node.RestoreOptions) { o.Signer = filepath.Join(other.dir, "ledger.key") }, backup.ErrMixed},
		"another memory's anchor":       {func(o *node.RestoreOptions) { o.Inputs.Anchors = [][]byte{other.anchorOf()} }, ledger.ErrForeign},
		"no root key":                   {func(o *node.RestoreOptions) { o.Root += ".gone" }, fs.ErrNotExist},
		"a directory that is not empty": {func(o *node.RestoreOptions) { o.Data = f.dir }, node.ErrNotEmpty},
	} {
		o := f.restoring(data, keys, records)
		was := o.Data
		c.change(&o)
		if _, err := node.Restore(t.Context(), o); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if _, err := os.Stat(was); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: it left something: %v", name, err)
		}
	}
}

func (f *fixture) anchorOf() []byte {
	f.t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, "anchor"))
	if err != nil {
		f.t.Fatal(err)
	}
	return b
}

// TestRestoreWhileItRuns backs up a node that is written and forgets meanwhile,
// and puts it back with keys that are newer than the data.
func TestRestoreWhileItRuns(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	gone := plant(f, token, "maria", "zanzibarword")
	kept := plant(f, token, "petra", "marigoldword")
	before := kept.reads()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	begun := make(chan struct{})
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			body := []byte(`{"subject":"jonas","text":"It goes on and on.","source":{"kind":"chat","ref":"r"}}`)
			if a := f.call(token, http.MethodPost, "/v1/episodes", body); a.status != http.StatusCreated { //nolint:contextcheck // It has the test's.
				t.Errorf("capture: %d %s", a.status, a.body)
				break
			}
			if n == 3 {
				close(begun)
			}
		}
		done <- n
	}()
	<-begun
	data := f.artefact(backup.KindData)
	f.do(token, http.MethodDelete, "/v1/episodes/"+gone.episode, nil, http.StatusAccepted)
	keys, records := f.artefact(backup.KindKeys), f.artefact(backup.KindLedger)
	cancel()
	if n := <-done; n < 10 {
		t.Errorf("only %d were captured", n)
	}
	f.settle()
	left, _ := gone.holds(gone.reads())
	if len(left) > 1 { // its question is a trace
		t.Fatalf("the forget has left %v", left)
	}
	d, err := backup.Open(data, backup.KindData)
	if err != nil {
		t.Fatal(err)
	}
	k, err := backup.Open(keys, backup.KindKeys)
	if err != nil || k.LogLast <= d.Last {
		t.Fatalf("keys of %d, data to %d, %v", k.LogLast, d.Last, err)
	}
	o := f.restoring(data, keys, records)
	o.Signer = ""
	o.Inputs.Public = d.Public
	g, r := f.restored(o)
	if r.Restored != d.Last || r.Lost == 0 || r.Appended == 0 || !r.NewKey {
		t.Errorf("%+v", r)
	}
	g.settle()
	if yes, _ := gone.holds(gone.elsewhere(g).reads()); !slices.Equal(yes, left) {
		t.Errorf("what was forgotten is read by %v", yes)
	}
	same(t, kept, before, kept.elsewhere(g).reads())
	a := g.do(token, http.MethodGet, "/v1/episodes?subject=jonas&limit=3", nil, http.StatusOK)
	if !bytes.Contains(a.body, []byte("on and on")) {
		t.Errorf("what was captured meanwhile: %s", a.body)
	}
	if a := g.compare(); get[string](a, "state") != "done" {
		t.Errorf("the log: %s", a.body)
	}
	g.replayAll()
}

// TestRestoreCutOff cuts a restore off later and later. What it leaves is not
// served, and after it was removed the restore succeeds.
func TestRestoreCutOff(t *testing.T) {
	t.Parallel()
	f := open(t)
	p := plant(f, f.token("acme"), "maria", "zanzibarword")
	o := f.restoring(f.artefact(backup.KindData), f.artefact(backup.KindKeys), f.artefact(backup.KindLedger))
	cut := 0
	for after := time.Duration(0); ; after += 15 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := node.Restore(ctx, o)
		cancel()
		if err == nil {
			break // it was quicker
		}
		cut++
		if _, err := node.Open(t.Context(), node.Options{Data: o.Data, Durability: "process"}); !errors.Is(err, node.ErrRestoring) {
			t.Fatalf("cut off after %s: it opens: %v", after, err)
		}
		if _, err := node.Restore(t.Context(), o); !errors.Is(err, node.ErrNotEmpty) {
			t.Fatalf("cut off after %s: restored into what is left: %v", after, err)
		}
		if err := os.RemoveAll(o.Data); err != nil {
			t.Fatal(err)
		}
	}
	if cut < 2 {
		t.Errorf("it was cut off %d times", cut)
	}
	if err := os.RemoveAll(o.Data); err != nil {
		t.Fatal(err)
	}
	g, r := f.restored(o)
	g.settle()
	if yes, _ := p.holds(p.elsewhere(g).reads()); len(yes) < 5 || r.Lost != 0 {
		t.Errorf("%v read what is there, %+v", yes, r)
	}
}

// TestBackupIsTheOperators holds that an administrator of a tenant does not get
// what belongs to all of them.
func TestBackupIsTheOperators(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.do(f.token("acme"), http.MethodGet, "/v1/backups/data", nil, http.StatusForbidden)
	f.do(f.LocalToken(), http.MethodGet, "/v1/backups/quarantine", nil, http.StatusNotFound)
	f.capture(f.LocalToken(), "maria", "Nobody reads this zanzibarword.")
	f.settle()
	root, err := os.ReadFile(filepath.Join(f.dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	private, err := os.ReadFile(filepath.Join(f.dir, "ledger.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range backup.Kinds() {
		b := f.do(f.LocalToken(), http.MethodGet, "/v1/backups/"+string(kind), nil, http.StatusOK).body
		for _, secret := range []string{"zanzibarword", strings.TrimSpace(string(root)), strings.TrimSpace(string(private))} {
			if bytes.Contains(b, []byte(secret)) {
				t.Errorf("%s has a secret in clear", kind)
			}
		}
	}
}
