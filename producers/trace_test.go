package producers_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/producers"
)

func (f *fixture) openTrace(trace string) (events.TraceRecalled, string, error) {
	f.Helper()
	for m, err := range f.log.Follow(f.Context(), 0) {
		if err != nil {
			f.Fatal(err)
		}
		r, err := events.Decode(m)
		if err != nil {
			f.Fatal(err)
		}
		e, ok := r.Events[0].(events.TraceRecalled)
		if !ok || e.Trace != trace {
			continue
		}
		plain, err := f.keys.Open(f.Context(), seal.Scope{Tenant: r.Aggregate.Tenant, Subject: e.Subject, Class: e.Class},
			seal.Label{Aggregate: "trace", Record: e.Subject, EventType: events.TypeTraceRecalled, Part: trace}, e.Content)
		return e, string(plain), err
	}
	f.Fatal("no such trace")
	return events.TraceRecalled{}, "", nil
}

func TestTraces(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		ctx, who := t.Context(), user("acme")
		e := f.capture("maria", "hello")
		sid := subjectOf(f, e)
		mine, position, err := f.RecordRecall(ctx, who, producers.Recall{
			Subject: sid, Query: "where?", Memories: []string{e}, At: 2, Weights: "default",
		})
		if err != nil || position == 0 {
			t.Fatal(err)
		}
		got, plain, err := f.openTrace(mine)
		want := events.TraceRecalled{
			Trace: mine, Subject: sid, Class: f.tenant().Hash("category", "general"), At: 2,
			Memories: []string{e}, Weights: "default", Content: got.Content,
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || plain != `{"query":"where?"}` {
			t.Errorf("%s %q %v", diff, plain, err)
		}
		all, _, err := f.RecordRecall(ctx, who, producers.Recall{Query: "who?"})
		if err != nil {
			t.Fatal(err)
		}
		if _, plain, err := f.openTrace(all); err != nil || plain != `{"query":"who?"}` {
			t.Errorf("%q %v", plain, err)
		}

		use := producers.UseRequest{MemoryIDs: []string{e}, AnswerRef: "a1"}
		one, err := f.UseTrace(ctx, who, "key", mine, use)
		if err != nil || one.Position == 0 {
			t.Fatal(err)
		}
		if again, err := f.UseTrace(ctx, who, "key", mine, use); err != nil || again != one {
			t.Errorf("%+v, %v, want %+v", again, err, one)
		}
		if _, err := f.UseTrace(ctx, who, "key", all, use); !errors.Is(err, events.ErrKeyReused) {
			t.Errorf("other trace: %v", err)
		}
		if _, err := f.JudgeTrace(ctx, who, "", mine, producers.FeedbackRequest{MemoryID: e, Judgement: "useful"}); err != nil {
			t.Fatal(err)
		}
		judged, _ := f.last(events.KindTrace, events.SharedID).Events[0].(events.TraceJudged)
		if diff := cmp.Diff(events.TraceJudged{Trace: mine, Memory: e, Judgement: events.JudgedUseful}, judged); diff != "" {
			t.Error(diff)
		}
		for name, id := range map[string]string{"not an id": "x", "unknown": someID, "an episode": e} {
			if _, err := f.UseTrace(ctx, who, "", id, use); !errors.Is(err, events.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := f.UseTrace(ctx, user("acme-corp"), "", mine, use); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("another tenant: %v", err)
		}

		f.forgetSubject("maria")
		if _, _, err := f.openTrace(mine); !errors.Is(err, seal.ErrKeyDestroyed) {
			t.Errorf("the query outlived its subject: %v", err)
		}
		if _, _, err := f.openTrace(all); err != nil {
			t.Errorf("the tenant's own trace went too: %v", err)
		}
		if _, err := f.UseTrace(ctx, who, "", mine, use); !errors.Is(err, events.ErrForgotten) {
			t.Errorf("forgotten: %v", err)
		}
		if _, _, err := f.RecordRecall(ctx, who, producers.Recall{Subject: sid, Query: "late"}); !errors.Is(err, events.ErrForgotten) {
			t.Errorf("late recall: %v", err)
		}
	})
}

// A judgement that is repeated late under its key does not come after, and so
// replace, one that was made since, even if the log no longer knows its id.
func TestRepeatedJudgementStaysInItsPlace(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	log := &faultyLog{Log: s.log, kind: events.KindTrace}
	f := s.openOn(t, log, s.rows)
	ctx, who := t.Context(), user("acme")
	e := f.capture("maria", "hello")
	trace, _, err := f.RecordRecall(ctx, who, producers.Recall{Query: "who?", Memories: []string{e}})
	if err != nil {
		t.Fatal(err)
	}
	judge := func(key, judgement string) (producers.Written, error) {
		return f.JudgeTrace(ctx, who, key, trace, producers.FeedbackRequest{MemoryID: e, Judgement: judgement})
	}
	one, err := judge("one", "useful")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := judge("two", "wrong"); err != nil {
		t.Fatal(err)
	}
	log.before = unavailable // for whatever is appended now
	if again, err := judge("one", "useful"); err != nil || again != one {
		t.Errorf("%+v, %v, want %+v", again, err, one)
	}
	if _, err := judge("one", "stale"); !errors.Is(err, events.ErrKeyReused) {
		t.Errorf("another judgement: %v", err)
	}
	if _, err := judge("three", "stale"); !errors.Is(err, events.ErrUnavailable) {
		t.Errorf("a new one is appended: %v", err)
	}
	if _, err := judge("three", "stale"); err != nil {
		t.Errorf("and again: %v", err)
	}
}

// A report whose subject is forgotten while it is made gives the subject no new
// key.
func TestReportAroundAForget(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]bool{"forgotten in between": true, "left alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			log := &faultyLog{Log: s.log, kind: events.KindTrace}
			f := s.openOn(t, log, s.rows)
			e := f.capture("maria", "hello")
			sid := subjectOf(f, e)
			trace, _, err := f.RecordRecall(t.Context(), user("acme"), producers.Recall{Subject: sid, Query: "who?"})
			if err != nil {
				t.Fatal(err)
			}
			log.after = func() error {
				if forget {
					s.open(t).forgetSubject("maria")
					f.keys.Evict(f.tenant().Token(), sid)
				}
				return nil
			}
			_, err = f.UseTrace(t.Context(), user("acme"), "key", trace, producers.UseRequest{MemoryIDs: []string{e}})
			if errors.Is(err, events.ErrForgotten) != forget || !forget && err != nil {
				t.Errorf("report: %v", err)
			}
			left := 0
			for _, err := range s.rows.List(t.Context(), "k2."+f.tenant().Token()+"."+sid) {
				left++
				if err != nil {
					t.Fatal(err)
				}
			}
			if (left == 0) != forget {
				t.Errorf("%d class keys are left", left)
			}
		})
	}
}

func (f *fixture) keyRows() int {
	f.Helper()
	n := 0
	for _, err := range f.rows.List(f.Context(), "") {
		if err != nil {
			f.Fatal(err)
		}
		n++
	}
	return n
}

// Recalls make no key rows, which a store never quite forgets, and every
// one of them is found again, also those that were recorded at once.
func TestRecallsMakeNoKeys(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		ctx, who := t.Context(), user("acme")
		e := f.capture("maria", "hello")
		subjects := []string{subjectOf(f, e), ""}
		if _, _, err := f.RecordRecall(ctx, who, producers.Recall{Query: "first"}); err != nil {
			t.Fatal(err)
		}
		before := f.keyRows()
		const recalls = 100
		ids, errs := make([]string, recalls), make([]error, recalls)
		var all sync.WaitGroup
		for i := range recalls {
			all.Go(func() {
				ids[i], _, errs[i] = f.RecordRecall(ctx, who, producers.Recall{Subject: subjects[i%2], Query: "who?", Memories: []string{e}})
			})
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		if after := f.keyRows(); after != before {
			t.Errorf("%d key rows after %d recalls, %d before", after, recalls, before)
		}
		distinct := map[string]bool{}
		for _, id := range ids {
			distinct[id] = true
			if _, err := f.UseTrace(ctx, who, "", id, producers.UseRequest{MemoryIDs: []string{e}}); err != nil {
				t.Errorf("report on %s: %v", id, err)
			}
		}
		if len(distinct) != recalls {
			t.Errorf("%d ids", len(distinct))
		}
		if _, plain, err := f.openTrace(ids[0]); err != nil || plain != `{"query":"who?"}` {
			t.Errorf("%q %v", plain, err)
		}
		f.forgetSubject("maria")
		if _, plain, err := f.openTrace(ids[0]); !errors.Is(err, seal.ErrKeyDestroyed) {
			t.Errorf("forgotten, but %q %v", plain, err)
		}
		if _, plain, err := f.openTrace(ids[1]); err != nil || plain != `{"query":"who?"}` {
			t.Errorf("another's: %q %v", plain, err)
		}
	})
}

// A made-up id is not found, however many traces stand behind the place it names.
func TestMadeUpTrace(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	e := f.capture("maria", "hello")
	known, _, err := f.RecordRecall(t.Context(), user("acme"), producers.Recall{Query: "q"})
	if err != nil {
		t.Fatal(err)
	}
	use := producers.UseRequest{MemoryIDs: []string{e}}
	other := "0"
	if strings.HasSuffix(known, other) {
		other = "1"
	}
	for name, id := range map[string]string{
		"a hint that is too high": "ffffffff-ffff" + known[13:],
		"another version":         known[:14] + "7" + known[15:],
		"another id":              known[:35] + other,
	} {
		if _, err := f.UseTrace(t.Context(), user("acme"), "", id, use); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.UseTrace(t.Context(), user("acme"), "", strings.ToUpper(known), use); err != nil {
		t.Errorf("the real one: %v", err)
	}
}

// A subject that has a name but no first event has no key for a question.
func TestRecallBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	f := inMemory(t).open(t)
	sid, err := f.tenant().SubjectID(t.Context(), "maria", true)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		_, _, err := f.RecordRecall(t.Context(), user("acme"), producers.Recall{Subject: sid, Query: "who?"})
		return err
	}
	if err := ask(); !errors.Is(err, events.ErrForgotten) {
		t.Errorf("before: %v", err)
	}
	f.capture("maria", "hello")
	if err := ask(); err != nil {
		t.Errorf("after: %v", err)
	}
	f.forgetSubject("maria")
	if err := ask(); !errors.Is(err, events.ErrForgotten) {
		t.Errorf("late: %v", err)
	}
}

// A question that is asked while its subject is being forgotten ends with the
// subject, also if the gateway knows nothing yet of what another one destroyed.
func TestRecallDuringAForget(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	f, other := s.open(t), s.open(t)
	sid := subjectOf(f, f.capture("maria", "hello"))
	ask := func() string {
		t.Helper()
		trace, _, err := f.RecordRecall(t.Context(), user("acme"), producers.Recall{Subject: sid, Query: "who?"})
		if err != nil {
			t.Fatal(err)
		}
		return trace
	}
	before := ask()
	other.tombSubject("maria")
	during := ask()
	for name, trace := range map[string]string{"before": before, "during": during} {
		if _, plain, err := other.openTrace(trace); err != nil || plain != `{"query":"who?"}` {
			t.Errorf("control: %s: %q, %v", name, plain, err)
		}
	}
	if err := other.keys.DestroySubject(t.Context(), f.tenant().Token(), sid); err != nil {
		t.Fatal(err)
	}
	after := ask() // this gateway has the keys still
	for name, trace := range map[string]string{"before": before, "during": during, "after": after} {
		if _, plain, err := other.openTrace(trace); !errors.Is(err, seal.ErrKeyDestroyed) {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
	f.keys.Evict(f.tenant().Token(), sid)
	if _, _, err := f.RecordRecall(t.Context(), user("acme"), producers.Recall{Subject: sid, Query: "who?"}); !errors.Is(err, events.ErrForgotten) {
		t.Errorf("once it is told: %v", err)
	}
}

// However many gateways record, and however far behind the views are, a trace is
// found by its id.
func TestTracesOfSeveralGateways(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	one, two := s.open(t), s.open(t)
	var passed atomic.Int64
	late, err := producers.New(producers.Config{
		Log: s.log, Keys: one.keys, Quarantine: s.quarantine, NewID: newID,
		Now: func() time.Time { return start().Add(time.Duration(passed.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	one.Gateway = late
	e := one.capture("maria", "hello")
	record := func(f *fixture, at uint64) string {
		t.Helper()
		trace, _, err := f.RecordRecall(t.Context(), user("acme"), producers.Recall{Query: "who?", At: at})
		if err != nil {
			t.Fatal(err)
		}
		return trace
	}
	traces := []string{record(one, 0)}
	for range 1_200 { // more than are looked through
		record(two, 0)
	}
	// The first gateway knows only its own, and views that stood still.
	passed.Store(int64(time.Minute))
	traces = append(traces, record(one, 1), record(two, 1), record(one, 2))
	for i, trace := range traces {
		for _, f := range []*fixture{one, two} {
			if _, err := f.UseTrace(t.Context(), user("acme"), "", trace, producers.UseRequest{MemoryIDs: []string{e}}); err != nil {
				t.Errorf("report on trace %d: %v", i, err)
			}
		}
	}
}
