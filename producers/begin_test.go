package producers_test

import (
	"context"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// askedLog says when it has answered a question about a subject.
type askedLog struct {
	events.Log

	subject  string
	answered func()
}

func (l *askedLog) ReadAggregate(ctx context.Context, a events.Aggregate, after uint64) iter.Seq2[events.Recorded, error] {
	return func(yield func(events.Recorded, error) bool) {
		for r, err := range l.Log.ReadAggregate(ctx, a, after) {
			if !yield(r, err) {
				return
			}
		}
		if a.Kind == events.KindSubject && a.ID == l.subject && l.answered != nil {
			l.answered()
		}
	}
}

// slowRows lets somebody else act before a read of many rows, once.
type slowRows struct {
	seal.Rows

	before func()
}

func (r *slowRows) Get(ctx context.Context, key string) (seal.Row, error) {
	if do := r.before; do != nil && strings.HasPrefix(key, "k2.") {
		r.before = nil
		do()
	}
	return r.Rows.Get(ctx, key)
}

// A forget that begins and ends between the question whether the subject lives
// and the making of the key is noticed: the class key that had to be made again
// does not stay, and the episode is kept under a new id of the name.
func TestCaptureAroundAForget(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]bool{"forgotten in between": true, "left alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inMemory(t)
			log, rows := &askedLog{Log: s.log}, &slowRows{Rows: s.rows}
			f := s.openOn(t, log, rows)
			sid := subjectOf(f, f.capture("maria", "one"))
			tenant := f.tenant().Token()

			answered := make(chan struct{})
			log.subject, log.answered = sid, sync.OnceFunc(func() { close(answered) })
			f.keys.Evict(tenant, sid) // so that the class key is read
			rows.before = func() {
				<-answered
				if forget {
					s.open(t).forgetSubject("maria")
					f.keys.Evict(tenant, sid)
				}
			}
			now := subjectOf(f, f.capture("maria", "two"))
			if (now != sid) != forget {
				t.Errorf("subject was %s and is %s", sid, now)
			}
			left := 0
			for _, err := range s.rows.List(t.Context(), "k2."+tenant+"."+sid) {
				left++
				if err != nil {
					t.Fatal(err)
				}
			}
			if (left == 0) != forget {
				t.Errorf("%d class keys of the first id are left", left)
			}
			last := f.last(events.KindSubject, now)
			if _, ok := last.Events[0].(events.SubjectRegistered); !ok {
				t.Error("the subject of the second episode is not alive")
			}
		})
	}
}
