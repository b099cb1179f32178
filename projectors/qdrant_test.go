package projectors

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/annals-memory/annals/internal/qdranttest"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// qdrantOf is a search index on a server, with names that no other test has.
func qdrantOf(t *testing.T, address string) *Qdrant {
	t.Helper()
	c, err := qdrantindex.Open(t.Context(), qdrantindex.Config{
		Address: address, Now: time.Now, Grace: time.Nanosecond, Backoff: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Qdrant{Client: c, Prefix: strings.NewReplacer("/", "-", ".", "-").Replace(t.Name())}
}

// collections are those of the views, and the one that the alias names.
func (q *Qdrant) collections(t *testing.T) (names []string, serving string) {
	t.Helper()
	all, err := q.Client.Collections(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if strings.HasPrefix(name, q.Prefix+"-gen-") {
			names = append(names, name)
		}
	}
	if serving, err = q.Client.Serving(t.Context(), q.Prefix); err != nil {
		t.Fatal(err)
	}
	return names, serving
}

// TestScenariosWithQdrant tells the same stories with the search index outside.
func TestScenariosWithQdrant(t *testing.T) {
	t.Parallel()
	address := qdranttest.Address(t)
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		w := newWorld(t)
		w.step = time.Hour
		cfg := w.config(vfs.NewMem())
		cfg.Qdrant = qdrantOf(t, address)
		s := &scenario{T: t, w: w, v: start(t, cfg), episodes: map[string]captured{}, facts: map[string]drawnFact{}}
		defer func() { s.v.close(t) }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.T = t
			return s.run(d)
		})
		s.v.waitFor(t, w.head)
		checkViews(t, s.v.Views, w.model(t, w.head))
	})
}

// TestQdrant follows the index through what happens to views: opened again, replayed, lost, forgotten, verified, and with the
// server killed meanwhile.
func TestQdrant(t *testing.T) {
	t.Parallel()
	server := qdranttest.Start(t)
	w, fs := newWorld(t), vfs.NewMem()
	populate(t, w)
	cfg := w.config(fs)
	cfg.Qdrant = qdrantOf(t, server.Address)
	v := start(t, cfg)
	v.waitFor(t, w.head)
	want := func(generation uint64) {
		t.Helper()
		v.waitFor(t, w.head)
		checkViews(t, v.Views, w.model(t, w.head))
		if st := statusOf(t, v.Views, Memories); st.Generation != generation || !st.Healthy {
			t.Fatalf("memories are %+v, want generation %d", st, generation)
		}
		names, serving := cfg.Qdrant.collections(t)
		if name := cfg.Qdrant.collection(generation); serving != name || len(names) != 1 || names[0] != name {
			t.Fatalf("collections %v, of which %q serves; want %q", names, serving, name)
		}
	}
	eligible := func(tenant, sid string) int {
		t.Helper()
		s := snapshot(t, v.Views)
		defer closeSnapshot(t, s)
		c, err := s.Candidates(context.Background(), index.Query{Filter: index.Filter{Tenant: tenant, Subjects: []string{sid}}, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		return c.Eligible
	}
	want(1)
	// Opened again, it goes on where it was.
	v.close(t)
	v = start(t, cfg)
	want(1)
	// A replay builds the next one and switches; a purge deletes the one before.
	if _, err := v.Replay(t.Context(), Memories, nil); err != nil {
		t.Fatal(err)
	}
	if err := v.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(2)
	if res, err := v.Verify(t.Context(), Memories, nil); err != nil || !res.OK {
		t.Fatalf("verify: %+v, %v", res, err)
	}
	// What is written while the server is down comes when it is back.
	server.Kill(t)
	a := w.capture(t, "acme", "dora", "cello")
	server.Restart(t)
	want(2)
	token := w.tenant(t, "acme").Token()
	if n := eligible(token, a.sid); n != 1 {
		t.Fatalf("%d memories of a living subject", n)
	}
	// What is forgotten is gone from the server, its tombstones after the purge too.
	w.forgetSubject(t, "acme", "dora")
	want(2)
	if n := eligible(token, a.sid); n != 0 {
		t.Fatalf("%d memories of a forgotten subject", n)
	}
	if err := v.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A collection that is lost is built again.
	v.close(t)
	if err := cfg.Qdrant.Client.Index(cfg.Qdrant.collection(2)).Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	v = start(t, cfg)
	want(3)
	// So is one that was set back to what it was, between two starts or while it is written.
	setBack := server.Save(t)
	b := w.capture(t, "acme", "emil", "oboe")
	want(3)
	v.close(t)
	setBack()
	v = start(t, cfg)
	want(4)
	if n := eligible(token, b.sid); n != 1 {
		t.Fatalf("%d memories of a subject that the index had lost", n)
	}
	setBack = server.Save(t)
	b = w.capture(t, "acme", "fred", "bassoon")
	want(4)
	setBack()
	w.capture(t, "acme", "gina", "viola")
	v.waitFor(t, w.head)
	if n := eligible(token, b.sid); n != 1 {
		t.Fatalf("%d memories of a subject that the index had lost at work", n)
	}
	if err := v.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(5)
	// And one that is gone while it is written.
	if err := cfg.Qdrant.Client.Index(cfg.Qdrant.collection(5)).Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.capture(t, "acme", "hans", "tuba")
	v.waitFor(t, w.head)
	if err := v.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(6)
	// And without Qdrant the memories are built anew, with the index beside them.
	v.close(t)
	plain := cfg
	plain.Qdrant = nil
	v = start(t, plain)
	defer v.close(t)
	v.waitFor(t, w.head)
	checkViews(t, v.Views, w.model(t, w.head))
}
