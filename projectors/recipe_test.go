package projectors

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/words"
)

const otherModel = "wide-2"

// The dimensions differ, so that no vector of one model could be taken for one of the other.
const testDim, otherDim = 8, 12

// told is an episode with the vectors that two models have made of it, so many as n is.
func told(t fataler, w *world, subject, text string, n uint64) captured {
	t.Helper()
	c := w.capture(t, "acme", subject, text)
	w.embed(t, c.tenant, c.sid, c.class, c.id, events.KindEpisode, unit(n, testDim))
	w.embedBy(t, otherModel, c.tenant, c.sid, c.class, c.id, events.KindEpisode, unit(n, otherDim))
	return c
}

// nearest is the episode that is nearest to the vector of one, by a model; "" if there is none.
func nearest(t fataler, s *Snapshot, tenant, model string, n uint64) string {
	t.Helper()
	dim := testDim
	if model == otherModel {
		dim = otherDim
	}
	found, err := s.Candidates(context.Background(), index.Query{
		Filter: index.Filter{Tenant: tenant}, Vector: unit(n, dim), Model: model, K: 1,
	})
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	if len(found.Dense) == 0 || found.Dense[0].Score < 0.999 {
		return ""
	}
	return found.Dense[0].ID
}

// TestBuild holds that memories whose model changes go on with the old one until the next generation is there, that the switch
// is one step and takes nobody's snapshot away, and that the way back is the same.
func TestBuild(t *testing.T) {
	t.Parallel()
	w, fs := newWorld(t), vfs.NewMem()
	populate(t, w)
	first := told(t, w, "dora", "cello", 1)
	tenant := w.tenant(t, "acme").Token()
	v := start(t, w.config(fs))
	v.waitFor(t, w.head)
	v.close(t)

	cfg := w.config(fs)
	cfg.Model = otherModel
	v = start(t, cfg)
	defer func() { v.close(t) }()
	v.waitFor(t, w.head)
	old := v.Recipe()
	if old.Model != testModel || v.Wanted().Model != otherModel {
		t.Fatalf("serves %+v, wants %+v", old, v.Wanted())
	}
	second := told(t, w, "dora", "flute", 2)
	v.waitFor(t, w.head)
	before := snapshot(t, v.Views)
	defer closeSnapshot(t, before)

	var during *Build
	asked := func(s *Snapshot, model string) {
		t.Helper()
		for n, c := range map[uint64]captured{1: first, 2: second} {
			if got := nearest(t, s, tenant, model, n); got != c.id {
				t.Errorf("by %s: found %q for %d, want %q", model, got, n, c.id)
			}
		}
		for _, m := range []string{testModel, otherModel} {
			_, err := s.Candidates(t.Context(), index.Query{Filter: index.Filter{Tenant: tenant}, Vector: unit(1, testDim), Model: m, K: 1})
			if errors.Is(err, ErrOtherModel) != (m != model) {
				t.Errorf("asked with a vector of %s where %s serves: %v", m, model, err)
			}
		}
	}
	asked(before, testModel)
	res, err := v.Build(t.Context(), v.Wanted(), func(Progress) {
		during = statusOf(t, v.Views, Memories).Building
		with(t, v.Views, func(s *Snapshot) { asked(s, testModel) })
	})
	if err != nil || res.Old != res.New || res.Generation != 2 {
		t.Fatalf("build: %+v %v", res, err)
	}
	if during == nil || during.Generation != 2 || during.Recipe == nil || during.Recipe.Model != otherModel || during.Position != during.Target {
		t.Errorf("shown meanwhile: %+v", during)
	}
	st := statusOf(t, v.Views, Memories)
	if st.Building != nil || st.Recipe == nil || *st.Recipe != v.Wanted() || v.Recipe() != v.Wanted() {
		t.Errorf("shown afterwards: %+v", st)
	}
	asked(before, testModel)
	// What the reader had before it heard of the switch has its vectors too, and so has what follows.
	for n := range uint64(5) {
		c := told(t, w, "emil", "oboe", 10+n)
		v.waitFor(t, w.head)
		with(t, v.Views, func(s *Snapshot) {
			asked(s, otherModel)
			if got := nearest(t, s, tenant, otherModel, 10+n); got != c.id {
				t.Errorf("what came after the switch: %q", got)
			}
		})
	}
	checkViews(t, v.Views, w.model(t, w.head))

	// The way back, for which the vectors are still in the log.
	if res, err := v.Build(t.Context(), old, nil); err != nil || res.Generation != 3 {
		t.Fatalf("back: %+v %v", res, err)
	}
	with(t, v.Views, func(s *Snapshot) {
		asked(s, testModel)
		if got := nearest(t, s, tenant, testModel, 14); got == "" {
			t.Error("back, and what was captured meanwhile is not there")
		}
	})
	if res, err := v.Verify(t.Context(), Memories, nil); err != nil || !res.OK {
		t.Errorf("verify: %+v %v", res, err)
	}
	checkViews(t, v.Views, w.model(t, w.head))
	for name, r := range map[string]Recipe{
		"a tokenizer that is not known": {Model: "m", Tokenizer: "of tomorrow", Place: PlaceStore},
		"a place that is not there":     {Model: "m", Tokenizer: words.Version, Place: PlaceQdrant},
	} {
		if _, err := v.Build(t.Context(), r, nil); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v.Recipe() != old {
		t.Errorf("serves %+v", v.Recipe())
	}
}

// TestOtherFormat holds that a view whose rows mean something else is built anew in its place, and only that one.
func TestOtherFormat(t *testing.T) {
	t.Parallel()
	for format, gen := range map[string]uint64{
		"memories/6 model=" + testModel: 1, "memories/6 model=another": 1, "memories/6 model=" + testModel + " words=7": 1,
		"memories/5 model=" + testModel: 2, "memories/6 model=" + testModel + " index=qdrant": 2,
		"memories/6 model=" + testModel + " salt=1": 2,
	} {
		w, fs := newWorld(t), vfs.NewMem()
		populate(t, w)
		v := start(t, w.config(fs))
		v.waitFor(t, w.head)
		v.stop(t)
		l, err := v.lane(Memories)
		if err != nil {
			t.Fatal(err)
		}
		state := l.state
		state.format = format
		if err := l.serving.db.Set(stateKey(), state.encode(), pebble.NoSync); err != nil {
			t.Fatal(err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		v = start(t, w.config(fs))
		v.waitFor(t, w.head)
		if f, m := statusOf(t, v.Views, Facts), statusOf(t, v.Views, Memories); f.Generation != 1 || m.Generation != gen {
			t.Errorf("%s: generations %d and %d, want %d", format, f.Generation, m.Generation, gen)
		}
		checkViews(t, v.Views, w.model(t, w.head))
		v.close(t)
	}
}

// TestTokenizers holds that an index is asked with the terms that it was made of, as long as they can be made, and by meaning
// alone where they cannot.
func TestTokenizers(t *testing.T) {
	t.Parallel()
	fields := Tokenizer{Name: "fields", Terms: strings.Fields}
	halves := Tokenizer{Name: "halves", Terms: func(text string) (terms []string) {
		for f := range strings.FieldsSeq(text) {
			terms = append(terms, f[:len(f)/2], f[len(f)/2:])
		}
		return terms
	}}
	w, fs := newWorld(t), vfs.NewMem()
	c := told(t, w, "anna", "violoncello concerto", 1)
	tenant := w.tenant(t, "acme")
	ask := func(v *running, text string) []string {
		t.Helper()
		var ids []string
		with(t, v.Views, func(s *Snapshot) {
			q := index.Query{Filter: index.Filter{Tenant: tenant.Token()}, K: 9}
			for _, term := range s.Terms(text) {
				q.Terms = append(q.Terms, words.Key(tenant.TermKey(), term))
			}
			found, err := s.Candidates(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range found.Lexical {
				ids = append(ids, h.ID)
			}
		})
		slices.Sort(ids)
		return ids
	}
	open := func(list ...Tokenizer) *running {
		cfg := w.config(fs)
		cfg.Tokenizers = list
		v := start(t, cfg)
		v.waitFor(t, w.head)
		return v
	}
	v := open(fields)
	if got := ask(v, "violoncello"); !slices.Equal(got, []string{c.id}) {
		t.Errorf("with the first: %v", got)
	}
	v.close(t)
	v = open(halves, fields)
	later := told(t, w, "anna", "violoncello sonata", 2)
	v.waitFor(t, w.head)
	if got := ask(v, "violoncello"); !slices.Equal(got, []string{c.id, later.id}) || v.Recipe().Tokenizer != "fields" {
		t.Errorf("with the old one that is still known: %v", got)
	}
	v.close(t)
	v = open(halves)
	if got := ask(v, "violoncello"); len(got) != 0 {
		t.Errorf("with terms of another kind: %v", got)
	}
	with(t, v.Views, func(s *Snapshot) {
		if got := nearest(t, s, tenant.Token(), testModel, 1); got != c.id {
			t.Errorf("by meaning: %q", got)
		}
	})
	if _, err := v.Build(t.Context(), v.Wanted(), nil); err != nil {
		t.Fatal(err)
	}
	if got := ask(v, "violins"); !slices.Equal(got, nil) {
		t.Errorf("another word: %v", got)
	}
	if got := ask(v, "violoncello"); !slices.Equal(got, []string{c.id, later.id}) {
		t.Errorf("with the next one: %v", got)
	}
	v.close(t)
}

// TestForgetWhileBuilding holds that what is forgotten while the next generation is built is denied by the one that serves, and
// by the next one from its first read on.
func TestForgetWhileBuilding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for w.head <= closeEnough { // with less, the serving generation is held from the beginning
		populate(t, w)
	}
	record, subject, kept := told(t, w, "dora", "cello", 1), told(t, w, "emil", "flute", 2), told(t, w, "fred", "oboe", 3)
	tenant := w.tenant(t, "acme").Token()
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	denied := func(when string, list ...captured) {
		t.Helper()
		with(t, v.Views, func(s *Snapshot) {
			model := s.Recipe().Model
			for n, c := range []captured{record, subject, kept} {
				gone := slices.ContainsFunc(list, func(d captured) bool { return d.id == c.id })
				got := nearest(t, s, tenant, model, uint64(n)+1)
				row, err := s.EpisodeAt(tenant, c.sid, c.id, c.at)
				if gone != (got == "") && gone != s.SubjectForgotten(tenant, c.sid) {
					t.Errorf("%s, by %s: episode %d is found: %q", when, model, n, got)
				}
				if gone != (err != nil || row.Content == nil) {
					t.Errorf("%s, by %s: episode %d is read: %v", when, model, n, err)
				}
			}
		})
	}
	denied("before")
	rounds := 0
	res, err := v.Build(t.Context(), Recipe{Model: otherModel, Tokenizer: words.Version, Place: PlaceStore}, func(Progress) {
		rounds++
		if rounds == 1 {
			w.forgetEpisode(t, record)
			v.waitFor(t, w.head)
			denied("meanwhile", record)
			w.forgetSubject(t, "acme", "emil")
			v.waitFor(t, w.head)
			denied("meanwhile", record, subject)
		}
	})
	if err != nil || rounds < 2 || res.Old != res.New {
		t.Fatalf("build in %d rounds: %+v %v", rounds, res, err)
	}
	denied("afterwards", record, subject)
	checkViews(t, v.Views, w.model(t, w.head))
}

// TestCrashWhileBuilding loses the process and what it had not synced before every operation on the files while a generation
// with another model is built and takes over. What is opened then has one generation, with one recipe, is the fold of the
// log with all vectors of that model, and is so at once.
func TestCrashWhileBuilding(t *testing.T) {
	t.Parallel()
	w, fs := newWorld(t), vfs.NewCrashableMem()
	populate(t, w)
	for n := range uint64(4) {
		told(t, w, "dora", "cello", n)
	}
	w.forgetSubject(t, "acme", "ben")
	var (
		mu     sync.Mutex
		clones []*vfs.MemFS
		armed  bool
	)
	cfg := w.config(errorfs.Wrap(fs, errorfs.InjectorFunc(func(op errorfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		if armed && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{}))
		}
		return nil
	})))
	v := start(t, cfg)
	v.waitFor(t, w.head)
	for _, l := range v.lanes {
		if err := l.serving.flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := syncDir(fs, "/"); err != nil { // the folder of the views is the caller's
		t.Fatal(err)
	}
	arm := func(on bool) {
		mu.Lock()
		defer mu.Unlock()
		armed = on
	}
	arm(true)
	if _, err := v.Build(t.Context(), Recipe{Model: otherModel, Tokenizer: words.Version, Place: PlaceStore}, nil); err != nil {
		t.Fatal(err)
	}
	arm(false)
	v.close(t)
	clones = append(clones, fs.CrashClone(vfs.CrashCloneCfg{}))
	models := map[string]int{}
	for i, clone := range clones {
		cfg := w.config(clone)
		cfg.Model = otherModel
		opened, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
		if st := statusOf(t, opened, Memories); st.Position != w.head {
			t.Errorf("crash %d: what is opened stands at %d of %d", i, st.Position, w.head)
		}
		v := follow(opened)
		model := v.Recipe().Model
		models[model]++
		v.waitFor(t, w.head)
		checkViews(t, v.Views, w.model(t, w.head))
		with(t, v.Views, func(s *Snapshot) {
			for n := range uint64(4) {
				if nearest(t, s, w.tenant(t, "acme").Token(), model, n) == "" {
					t.Errorf("crash %d: vector %d of %s is missing", i, n, model)
				}
			}
		})
		names, err := clone.List("views/" + Memories)
		if err != nil || len(names) != 2 {
			t.Errorf("crash %d: %v %v", i, names, err)
		}
		v.close(t)
	}
	if models[testModel] < 5 || models[otherModel] < 2 || len(models) != 2 {
		t.Errorf("served after the crashes: %v", models)
	}
	t.Logf("%d crashes, served afterwards: %v", len(clones), models)
}

// TestReadAheadOfSwitch holds that what was opened for the old generation and is folded into the next one is opened again for
// that: the vectors of its model are not those that the old one wanted.
func TestReadAheadOfSwitch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	populate(t, w)
	v, err := Open(t.Context(), w.config(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	l, err := v.lane(Memories)
	if err != nil {
		t.Fatal(err)
	}
	chunks := make(chan chunk, 9)
	c := told(t, w, "dora", "cello", 1)
	if err := read(t.Context(), l.cfg, l.current, 0, w.head, chunks); err != nil {
		t.Fatal(err)
	}
	close(chunks)
	if _, err := v.Build(t.Context(), Recipe{Model: otherModel, Tokenizer: words.Version, Place: PlaceStore}, nil); err != nil {
		t.Fatal(err)
	}
	for chunk := range chunks {
		if err := l.fold(t.Context(), &chunk); err != nil {
			t.Fatal(err)
		}
	}
	with(t, v, func(s *Snapshot) {
		if got := nearest(t, s, w.tenant(t, "acme").Token(), otherModel, 1); got != c.id {
			t.Errorf("the vector of the next model is lost: %q", got)
		}
	})
	if st := statusOf(t, v, Memories); st.Unopened != 0 || st.Position != w.head {
		t.Errorf("%+v", st)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBuildInLargeBatches holds that a build, whose batches take several chunks of the log, comes to what was folded chunk by
// chunk, with what needs a batch of its own in between, and that what it has taken over is written as it comes.
func TestBuildInLargeBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 2*chunkMessages + chunkMessages/2 {
		if i%20 != 0 { // what the memories pass over fills a chunk as well
			w.append(t, "acme", events.KindTrace, events.SharedID, events.TraceRecalled{Trace: w.id("trace"), Class: "c"})
			continue
		}
		c := w.capture(t, "acme", "anna", "note")
		switch i % 700 {
		case 100:
			p := w.proposal(t, "acme", "anna", "city", "Berlin", day(i%300), c)
			w.promote(t, "acme", w.id("city"), p, since(day(i%300)))
		case 300:
			w.embed(t, c.tenant, c.sid, c.class, c.id, events.KindEpisode, unit(uint64(i), testDim))
		case 500:
			w.forgetEpisode(t, c)
		}
	}
	w.capture(t, "acme", "ben", "other")
	w.forgetSubject(t, "acme", "ben")
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	res, err := v.Replay(t.Context(), Memories, nil)
	if err != nil || res.Old != res.New || res.Position != w.head {
		t.Fatalf("replay: %+v %v", res, err)
	}
	after := w.capture(t, "acme", "cleo", "after")
	v.waitFor(t, w.head)
	with(t, v.Views, func(s *Snapshot) {
		tenant := w.tenant(t, "acme").Token()
		if _, err := s.Episode(tenant, after.id); err != nil {
			t.Errorf("what came after: %v", err)
		}
		if got := nearest(t, s, tenant, testModel, 300); got == "" {
			t.Error("a vector is missing")
		}
	})
	if res, err := v.Verify(t.Context(), Memories, nil); err != nil || !res.OK {
		t.Errorf("verify: %+v %v", res, err)
	}
	checkViews(t, v.Views, w.model(t, w.head))
}
