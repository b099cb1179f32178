package producers_test

import (
	"errors"
	"testing"

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
			seal.Label{Aggregate: "trace", Record: trace, EventType: events.TypeTraceRecalled}, e.Content)
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
			Trace: mine, Subject: sid, Class: f.tenant().Hash("category", "trace"), At: 2,
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
