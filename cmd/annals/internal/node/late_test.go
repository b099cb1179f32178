package node_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/producers"
	"github.com/annals-memory/annals/tombstones"
)

// slowLog lets no episode into the log until it is opened.
type slowLog struct {
	events.Log

	waiting chan struct{}
	open    chan struct{}
}

func newSlowLog(log events.Log) *slowLog {
	return &slowLog{Log: log, waiting: make(chan struct{}, 100), open: make(chan struct{})}
}

func (l *slowLog) Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error) {
	if c.Aggregate.Kind == events.KindEpisode {
		l.waiting <- struct{}{}
		<-l.open
	}
	return l.Log.Append(ctx, c, expect)
}

// slowGateway is another gateway on the same log.
func (f *fixture) slowGateway(log producers.Log) *producers.Gateway {
	f.t.Helper()
	g, err := producers.New(producers.Config{
		Log: log, Keys: f.Keys(), Quarantine: f.streams().Quarantine(), Now: time.Now, NewID: uuid.NewString,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return g
}

// late captures episodes of a subject, some under an idempotency key, of which each
// is acknowledged once its subject is forgotten.
func (f *fixture) late(subject string, n int, forget func()) (ids []string) {
	f.t.Helper()
	log := newSlowLog(f.Log())
	g := f.slowGateway(log)
	caller := events.Caller{Tenant: "acme", Principal: "p", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustUser}
	ids = make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			out, err := g.Capture(context.Background(), caller, f.lateKey(i), producers.CaptureRequest{
				Subject: subject, Text: fmt.Sprintf("late %d", i), Source: events.Source{Kind: "chat", Ref: "r"},
			})
			if err != nil || out.Status != producers.StatusCaptured {
				f.t.Errorf("control: a capture was not acknowledged: %+v, %v", out, err)
			}
			ids[i] = out.ID
		})
	}
	for range n {
		<-log.waiting
	}
	forget()
	close(log.open)
	all.Wait()
	return ids
}

// lateKey is the idempotency key of every other capture.
func (*fixture) lateKey(i int) string {
	if i%2 == 0 {
		return ""
	}
	return fmt.Sprintf("late-%d", i)
}

// 1,257 means 1,257: the answer, the account and the receipt of a forget of a
// subject have one number, that of what the log has before the tombstone; what was
// acknowledged behind it has its own, is 410 and not 404 for ever, and does not
// come back.
func TestLateCapturesAreCounted(t *testing.T) {
	t.Parallel()
	const before, behind = 7, 5
	f := open(t)
	token := f.token("acme")
	for i := range before {
		f.capture(token, "maria", fmt.Sprintf("note %d", i))
	}
	kept := f.capture(token, "pedro", "He stays.")
	var out tombstones.Erasure
	ids := f.late("maria", behind, func() {
		out = as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted))
	})
	if out.Matched != before {
		t.Errorf("%d matched, want %d", out.Matched, before)
	}
	check := func(when string) {
		t.Helper()
		f.settle()
		for i, id := range ids {
			a := f.do(token, http.MethodGet, "/v1/episodes/"+id, nil, http.StatusGone)
			if get[string](a, "code") != "forgotten" {
				t.Errorf("%s: %s", when, a.body)
			}
			f.do(f.token("other"), http.MethodGet, "/v1/episodes/"+id, nil, http.StatusNotFound)
			if key := f.lateKey(i); key != "" {
				body := obj{"subject": "maria", "text": fmt.Sprintf("late %d", i), "source": obj{"kind": "chat", "ref": "r"}}
				f.do(token, http.MethodPost, "/v1/episodes", body, http.StatusGone, "Idempotency-Key", key)
			}
		}
		f.do(token, http.MethodGet, "/v1/episodes/"+uuid.NewString(), nil, http.StatusNotFound)
		f.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
	}
	check("at once")
	s := f.reaches(token, out.ErasureID, events.LevelPurged)
	for late := s.Late; late < behind; { // what was folded behind its round comes in the next
		s = f.erasure(token, out.ErasureID)
		late = s.Late
	}
	r := as[tombstones.SignedReceipt](f.do(token, http.MethodGet, "/v1/erasures/"+out.ErasureID+"/receipt", nil, http.StatusOK))
	if s.Matched != before || r.Matched != before || s.Late != behind || r.Late != behind {
		t.Errorf("the account has %d and %d late, the receipt %d and %d, want %d and %d", s.Matched, s.Late, r.Matched, r.Late, before, behind)
	}
	check("once purged")
	if left := f.positions(events.KindEpisode, ids[0]); len(left) != 1 { // its own tombstone
		t.Errorf("%d messages of a late capture are left", len(left))
	}
	f.close()
	if err := os.RemoveAll(filepath.Join(f.dir, "views")); err != nil {
		t.Fatal(err)
	}
	f.start()
	check("from rebuilt views")
	if again := f.erasure(token, out.ErasureID); again.Late != behind || again.Matched != before {
		t.Errorf("after a restart: %+v", again)
	}
}

// Forgets of a subject that run at the same time, with and without keys, have one
// erasure with one number.
func TestConcurrentSubjectForgetsAgree(t *testing.T) {
	t.Parallel()
	const notes = 23
	f := open(t)
	token := f.token("acme")
	for i := range notes {
		f.capture(token, "maria", fmt.Sprintf("note %d", i))
	}
	f.settle()
	answers := make([]tombstones.Erasure, 8)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			key := []string{}
			if i%2 == 0 {
				key = []string{"Idempotency-Key", fmt.Sprintf("key-%d", i)}
			}
			a := f.call(token, http.MethodPost, "/v1/subjects/maria/forget", nil, key...)
			if a.status != http.StatusAccepted {
				t.Errorf("%d: %s", a.status, a.body)
				return
			}
			answers[i] = as[tombstones.Erasure](a)
		})
	}
	all.Wait()
	id := ""
	for i, out := range answers {
		switch {
		case out.Matched == 0 && out.ErasureID == "": // it came when all was over
			continue
		case out.Matched != notes, id != "" && out.ErasureID != id:
			t.Errorf("answer %d is %+v", i, out)
		}
		id = out.ErasureID
	}
	s := f.reaches(token, id, events.LevelPurged)
	r := as[tombstones.SignedReceipt](f.do(token, http.MethodGet, "/v1/erasures/"+id+"/receipt", nil, http.StatusOK))
	if s.Matched != notes || r.Matched != notes {
		t.Errorf("the account has %d, the receipt %d, want %d", s.Matched, r.Matched, notes)
	}
}

// A forget of a subject whose process ended right behind the tombstone has the
// number that its answer would have had, whoever finishes it.
func TestCutOffSubjectForgetAgrees(t *testing.T) {
	t.Parallel()
	const notes = 11
	for _, keyed := range []bool{false, true} {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("keyed=%v again=%v", keyed, again), func(t *testing.T) {
				t.Parallel()
				f := open(t)
				token := f.token("acme")
				var ids []string
				for i := range notes {
					ids = append(ids, f.capture(token, "maria", fmt.Sprintf("note %d", i)))
				}
				f.settle()
				f.do(token, http.MethodDelete, "/v1/episodes/"+ids[0], nil, http.StatusAccepted)
				header := []string{}
				if keyed {
					header = []string{"Idempotency-Key", "key"}
				}
				id := f.cutOffForget(keyed)
				f.close()
				f.start()
				f.settle()
				if again {
					out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted, header...))
					if out.ErasureID != id || out.Matched != notes-1 {
						t.Errorf("again: %+v, want erasure %s of %d", out, id, notes-1)
					}
				}
				s := f.reaches(token, id, events.LevelPurged)
				r := as[tombstones.SignedReceipt](f.do(token, http.MethodGet, "/v1/erasures/"+id+"/receipt", nil, http.StatusOK))
				if s.Matched != notes-1 || r.Matched != notes-1 || s.Scope != "subject" {
					t.Errorf("the account has %d, the receipt %d, want %d", s.Matched, r.Matched, notes-1)
				}
				// The answer is lost; whoever asks again is led to the one that did it.
				out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted, header...))
				if out.ErasureID != id || out.Matched != notes-1 || !out.Level.AtLeast(events.LevelPurged) {
					t.Errorf("when all is over: %+v", out)
				}
			})
		}
	}
}

// cutOffForget forgets maria with a log that ends right behind the tombstone, and
// returns the erasure.
func (f *fixture) cutOffForget(keyed bool) string {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	log := &endingLog{Log: f.Log(), end: cancel}
	e, err := f.EraserOn(log)
	if err != nil {
		f.t.Fatal(err)
	}
	caller := events.Caller{Tenant: "acme", Principal: "p", Roles: []events.Role{events.RoleAdmin}, Trust: events.TrustUser}
	key := ""
	if keyed {
		key = "key"
	}
	if out, err := e.ForgetSubject(ctx, caller, key, "maria", ""); err == nil {
		f.t.Fatalf("control: it was not cut off: %+v", out)
	}
	if log.erasure == "" {
		f.t.Fatal("control: there is no tombstone")
	}
	return log.erasure
}

// endingLog ends when it has got the tombstone of a subject.
type endingLog struct {
	events.Log

	end     func()
	erasure string
}

func (l *endingLog) Append(ctx context.Context, c events.Commit, expect events.Expect) (events.Ack, error) {
	ack, err := l.Log.Append(ctx, c, expect)
	for _, e := range c.Events {
		if e, ok := e.(events.SubjectForgotten); ok {
			l.erasure = e.Erasure
			l.end()
		}
	}
	return ack, err
}
