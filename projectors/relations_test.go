package projectors

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/eventstest"
	"github.com/annals-memory/annals/projectors/index"
)

// part is a log with some messages only.
type part struct {
	events.Follower
	keep func(m *events.Message) bool
}

func (p part) Follow(ctx context.Context, after uint64) iter.Seq2[events.Message, error] {
	return func(yield func(events.Message, error) bool) {
		for m, err := range p.Follower.Follow(ctx, after) {
			if err == nil && !p.keep(&m) {
				continue
			}
			m.Pending = 0 // what is behind it may not be kept
			if !yield(m, err) {
				return
			}
		}
	}
}

// foldOf is the dump of views over a part of a log, up to the last message of it.
func foldOf(t fataler, w *world, keep func(m *events.Message) bool) dump {
	t.Helper()
	last := uint64(0)
	for p := uint64(1); p <= w.head; p++ {
		if m, err := w.log.MessageAt(context.Background(), p); err == nil && keep(&m) {
			last = p
		}
	}
	cfg := w.config(vfs.NewMem())
	cfg.Log = part{Follower: w.log, keep: keep}
	v := start(t, cfg)
	v.waitFor(t, last)
	s := snapshot(t, v.Views)
	d := viewDump(t, s)
	closeSnapshot(t, s)
	v.close(t)
	return d
}

// TestRelations holds that tenants on one log are as they are alone, and that a history with a forget shows of others what
// the history without the forgotten shows.
func TestRelations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		h := &history{T: t, w: w}
		for range rapid.IntRange(1, 30).Draw(t, "ops") {
			h.op()
		}
		all := foldOf(t, w, func(*events.Message) bool { return true })
		for _, name := range []string{"acme", "acme-corp"} {
			token := w.tenant(t, name).Token()
			mine := func(m *events.Message) bool { return strings.Contains(m.Subject, "."+token+".") }
			alone := foldOf(t, w, mine)
			together := dump{}
			for k, v := range all {
				if strings.Contains(k, " "+token+" ") {
					together[k] = v
				}
			}
			if diff := dumpDiff(alone, together); diff != "" {
				t.Fatalf("%s differs from alone:\n%s", name, diff)
			}
		}
		// Without the episodes that are forgotten: their own commits.
		forgotten := map[string]bool{}
		for k := range all {
			if rest, ok := strings.CutPrefix(k, "tomb episode "); ok {
				forgotten[rest[strings.Index(rest, " ")+1:]] = true
			}
		}
		without := foldOf(t, w, func(m *events.Message) bool {
			id := m.Subject[strings.LastIndex(m.Subject, ".")+1:]
			return !forgotten[id] || m.Header.Types[0] != events.TypeEpisodeCaptured
		})
		if diff := dumpDiff(without, all); diff != "" {
			t.Fatalf("what is left of the forgotten:\n%s", diff)
		}
	})
}

// TestTwiceIsOnce folds every chunk two times.
func TestTwiceIsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	populate(t, w)
	v, err := Open(t.Context(), w.config(vfs.NewMem()))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range v.lanes {
		chunks := make(chan chunk, w.head)
		cfg := *l.cfg
		cfg.Log = batching{Follower: w.log, seed: 3}
		if err := read(t.Context(), &cfg, l.spec.itself, 0, w.head, chunks); err != nil {
			t.Fatal(err)
		}
		close(chunks)
		for c := range chunks {
			for range 2 {
				if err := l.fold(t.Context(), &c); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	checkViews(t, v, w.model(t, w.head))
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeSubject forgets a subject with more records than one batch removes, beside one that stays.
func TestLargeSubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	src := w.capture(t, "acme", "anna", "source")
	stays := w.capture(t, "acme", "ben", "stays")
	for i := range page + 50 {
		w.capture(t, "acme", "anna", fmt.Sprint("text ", i))
		predicate := fmt.Sprint("p-", i)
		w.promote(t, "acme", predicate, w.proposal(t, "acme", "ben", predicate, "x", day(1), src), since(day(1)))
	}
	v := start(t, w.config(vfs.NewMem()))
	defer v.close(t)
	v.waitFor(t, w.head)
	w.forgetSubject(t, "acme", "anna")
	v.waitFor(t, w.head)
	with(t, v.Views, func(s *Snapshot) {
		tenant := w.tenant(t, "acme").Token()
		if e, f := s.SubjectCounts(tenant, src.sid); e != 0 || f != 0 {
			t.Errorf("left: %d episodes, %d facts", e, f)
		}
		rows, _, err := s.Facts(tenant, FactFilter{Subject: stays.sid, Now: day(5), Limit: 5_000})
		if err != nil || len(rows) != 0 {
			t.Errorf("%d facts that have no other source: %v", len(rows), err)
		}
		derived, err := s.FactsBySourceSubject(tenant, src.sid)
		if err != nil || len(derived) != page+50 || !derived[0].Masked || derived[0].Content != nil {
			t.Errorf("%d derived facts: %v", len(derived), err)
		}
		if _, err := s.Episode(tenant, stays.id); err != nil {
			t.Errorf("a neighbour: %v", err)
		}
		c, err := s.Candidates(t.Context(), index.Query{Filter: index.Filter{Tenant: tenant}})
		if err != nil || c.Eligible != 1 {
			t.Errorf("index holds %d: %v", c.Eligible, err)
		}
		// No row of any view has the subject in its key but its tombstone, what leads to that, and the lineage that the saga
		// needs.
		for _, r := range []*pebble.Snapshot{s.facts, s.memories, s.traces} {
			for sort := byte('!'); sort < 'z'; sort++ {
				err := scan(r, []byte{sort}, nil, func(k, _ []byte) (bool, error) {
					if strings.Contains(string(k), src.sid) && k[0] != sortSubjectTomb && k[0] != sortErasure && k[0] != sortFromSubject {
						t.Errorf("a row of sort %c is left", k[0])
					}
					return true, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// TestLateVector holds that the vector of a candidate is there when the candidate is promoted later.
func TestLateVector(t *testing.T) {
	t.Parallel()
	for _, together := range []bool{true, false} {
		w := newWorld(t)
		src := w.capture(t, "acme", "anna", "source")
		cfg := w.config(vfs.NewMem())
		v := start(t, cfg)
		if together { // in one batch
			v.close(t)
		}
		p := w.proposal(t, "acme", "anna", "city", "Berlin", day(1), src)
		slot := w.slot(t, "acme", p.Subject, "city")
		w.append(t, "acme", events.KindFact, slot, p, events.FactDecided{Fact: p.Fact, Decision: events.DecisionReview})
		w.embed(t, "acme", p.Subject, p.Class, p.Fact, events.KindFact, unit(1, 8))
		if !together {
			v.waitFor(t, w.head)
		}
		with := func(use func(s *Snapshot)) {
			s := snapshot(t, v.Views)
			defer closeSnapshot(t, s)
			use(s)
		}
		tenant := w.tenant(t, "acme").Token()
		if !together {
			with(func(s *Snapshot) {
				if rows, _, err := s.Reviews(tenant, "", 10); err != nil || len(rows) != 1 || rows[0].Fact != p.Fact {
					t.Errorf("review queue: %d %v", len(rows), err)
				}
			})
		}
		w.append(t, "acme", events.KindFact, slot,
			events.FactDecided{Fact: p.Fact, Decision: events.DecisionPromote, Into: p.Fact}, events.FactPromoted{Fact: p.Fact, Valid: since(day(1))})
		if together {
			v = start(t, cfg)
		}
		v.waitFor(t, w.head)
		with(func(s *Snapshot) {
			c, err := s.Candidates(t.Context(), index.Query{
				Filter: index.Filter{Tenant: tenant, Kinds: []index.Kind{index.Fact}}, Vector: unit(1, 8), Model: testModel, K: 3,
			})
			if err != nil || len(c.Dense) != 1 || c.VectorsMissing != 0 {
				t.Errorf("together %v: dense %d, missing %d: %v", together, len(c.Dense), c.VectorsMissing, err)
			}
			if rows, _, err := s.Reviews(tenant, "", 10); err != nil || len(rows) != 0 {
				t.Errorf("review queue: %d %v", len(rows), err)
			}
		})
		v.close(t)
	}
}

// TestKeysDoNotRunTogether holds that no tenant's or subject's prefix covers another's.
func TestKeysDoNotRunTogether(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token := rapid.StringMatching(`[a-c-]{1,4}`)
		a, b := token.Draw(t, "a"), token.Draw(t, "b")
		x, y := token.Draw(t, "x"), token.Draw(t, "y")
		covers := strings.HasPrefix(string(factKey(b, y, "slot", order{})), string(factsOf(a, x)))
		if covers != (a == b && x == y) {
			t.Fatalf("%q %q covers %q %q: %v", a, x, b, y, covers)
		}
	})
}

// TestCodecRoundTrip holds that every field of every row comes back: a field that is added to an event fails here until the
// codec knows it.
func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e, ok := eventstest.EventOf(t, events.TypeFactProposed).(events.FactProposed)
		d, ok2 := eventstest.EventOf(t, events.TypeFactDecided).(events.FactDecided)
		c, ok3 := eventstest.EventOf(t, events.TypeEpisodeCaptured).(events.EpisodeCaptured)
		if !ok || !ok2 || !ok3 {
			t.Fatal("not the events that were asked for")
		}
		r, ok := eventstest.EventOf(t, events.TypeFactReviewed).(events.FactReviewed)
		if !ok {
			t.Fatal("not the event that was asked for")
		}
		in := storedFact{
			fact: events.SlotFact{
				Reviews:      []events.Review{{FactReviewed: r, Reviewer: "r", Position: 8, RecordedAt: eventstest.Time(t, "reviewed at")}},
				Reopened:     6,
				FactProposed: e, Status: events.StatusActive, Decision: d, Valid: eventstest.Intervals(t, "valid"), SupersededBy: "by",
				Principal: "p", Command: "c", ProposedAt: 3, RecordedAt: eventstest.Time(t, "at"), ChangedAt: 9,
				ChangedTime: eventstest.Time(t, "changed"), Retraction: []byte("r"), Erasure: "x",
			},
			revision: 7, since: eventstest.Time(t, "since"), sourced: rapid.Bool().Draw(t, "sourced"), masked: rapid.Bool().Draw(t, "masked"),
		}
		var enc encoder
		in.encode(&enc)
		dec := decoder{b: enc.b}
		var out storedFact
		out.decode(&dec)
		if diff := cmp.Diff(in, out, cmp.AllowUnexported(storedFact{}), cmpopts.EquateEmpty()); diff != "" || dec.err() != nil {
			t.Fatalf("fact: %v\n%s", dec.err(), diff)
		}
		cut := decoder{b: enc.b[:rapid.IntRange(0, len(enc.b)-1).Draw(t, "cut")]}
		out.decode(&cut)
		if cut.err() == nil {
			t.Fatal("a row that is cut off decodes")
		}
		row := EpisodeRow{ID: "id", EpisodeCaptured: c, ContentType: "t", Position: 8, RecordedAt: eventstest.Time(t, "at"), Principal: "p"}
		got, err := decodeEpisode(encodeEpisode(&row))
		if diff := cmp.Diff(row, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("episode: %v\n%s", err, diff)
		}
	})
	for typ, n := range map[reflect.Type]int{
		reflect.TypeFor[events.SlotFact](): 15, reflect.TypeFor[events.FactProposed](): 17, reflect.TypeFor[events.FactDecided](): 6,
		reflect.TypeFor[events.SourceRef](): 5, reflect.TypeFor[events.Guard](): 5, reflect.TypeFor[events.Basis](): 7,
		reflect.TypeFor[events.EvidenceBasis](): 9, reflect.TypeFor[events.Review](): 4, reflect.TypeFor[events.FactReviewed](): 5,
		reflect.TypeFor[events.EpisodeCaptured](): 15, reflect.TypeFor[events.TraceRecalled](): 8,
	} {
		if typ.NumField() != n {
			t.Errorf("%v has %d fields, the codec knows %d", typ, typ.NumField(), n)
		}
	}
}

// TestDigest holds that order does not matter and that what was added can be taken away.
func TestDigest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 1, 10).Draw(t, "rows")
		var forth, back digest
		for i := range rows {
			forth.add(rowDigest(rows[i], []byte("v")))
			back.add(rowDigest(rows[len(rows)-1-i], []byte("v")))
		}
		if forth != back {
			t.Fatal("order matters")
		}
		for _, r := range rows {
			back.sub(rowDigest(r, []byte("v")))
		}
		if back != (digest{}) {
			t.Fatal("something is left")
		}
		if rowDigest([]byte("ab"), []byte("c")) == rowDigest([]byte("a"), []byte("bc")) {
			t.Fatal("key and value run together")
		}
	})
}
