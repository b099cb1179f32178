package producers_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/producers"
)

// eachStore runs a test on the reference log and on an embedded server.
func eachStore(t *testing.T, test func(t *testing.T, s store)) {
	t.Helper()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// an episode holds all that the caller said, sealed, and tokens of what is
// filtered by.
func TestCapture(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		r := producers.CaptureRequest{
			Subject: "María", Text: "I moved to Rome.", OccurredAt: at(day(3)), Session: "s1",
			Actors: []events.Actor{{ID: "maria", Role: "user"}}, Action: "told", Outcome: "noted",
			Source: events.Source{Kind: "chat", Ref: "m1"}, Sensitivity: "personal", Category: "profile",
			Entities: []string{"Rome", "María", "Rome"}, Metadata: map[string]jsontext.Value{"n": jsontext.Value(`1.0`)},
		}
		c, err := f.Capture(t.Context(), user("acme"), "", r)
		if err != nil || c.Status != producers.StatusCaptured || c.Position == 0 {
			t.Fatalf("%+v, %v", c, err)
		}
		rec := f.last(events.KindEpisode, c.ID)
		e, ok := rec.Events[0].(events.EpisodeCaptured)
		if !ok || rec.Position != c.Position || rec.ID != c.ID {
			t.Fatalf("%+v", rec)
		}
		tenant := f.tenant()
		sid, err := tenant.SubjectID(t.Context(), "Mari\u0301a", false)
		if err != nil {
			t.Fatal(err) // the other spelling is the same name
		}
		want := events.EpisodeCaptured{
			Subject: sid, Class: tenant.Hash("category", "profile"), OccurredAt: day(3), Trust: events.TrustUser,
			Sensitivity: "personal", Session: tenant.Hash("session", "s1"), Source: tenant.Hash("source", "chat\x00m1"),
			Entities: []string{tenant.Hash("entity", "Rome"), tenant.Hash("entity", "María")},
			Labels:   []string{tenant.Hash("label", "n\x001")}, Content: e.Content,
		}
		slices.Sort(want.Entities)
		if diff := cmp.Diff(want, e); diff != "" {
			t.Error(diff)
		}
		if rec.Principal != tenant.Hash("principal", "bot") {
			t.Errorf("principal %q", rec.Principal)
		}
		plain, err := f.keys.Open(t.Context(), seal.Scope{Tenant: tenant.Token(), Subject: sid, Class: e.Class},
			seal.Label{Aggregate: "episode", Record: c.ID, EventType: events.TypeEpisodeCaptured}, e.Content)
		if err != nil {
			t.Fatal(err)
		}
		var content events.EpisodeContent
		if err := json.Unmarshal(plain, &content); err != nil || content.Text != r.Text || content.Subject != r.Subject ||
			content.Session != "s1" || len(content.Actors) != 1 || content.Source != r.Source || len(content.Metadata) != 1 {
			t.Errorf("%+v, %v", content, err)
		}
		subject, ok := f.last(events.KindSubject, sid).Events[0].(events.SubjectRegistered)
		if !ok || len(subject.Content) == 0 {
			t.Errorf("subject %+v", subject)
		}
		if n := f.messages(); n != 2 {
			t.Errorf("%d messages, want subject and episode", n)
		}
		again := f.capture("María", "and again")
		if e, ok := f.last(events.KindEpisode, again).Events[0].(events.EpisodeCaptured); !ok || e.Subject != sid ||
			!e.OccurredUnknown || !e.OccurredAt.Equal(start()) || e.Class != tenant.Hash("category", "general") {
			t.Errorf("%+v", e)
		}
		if n := f.messages(); n != 3 {
			t.Errorf("%d messages, want one more", n)
		}
	})
}

// what is external waits in quarantine, and trust is only ever lowered.
func TestCaptureTrust(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		trusts := []events.Trust{
			events.TrustExternal, events.TrustTool, events.TrustAgent, events.TrustUser, events.TrustHuman, events.TrustSystem,
		}
		for _, channel := range trusts {
			for _, asked := range append(trusts, 0) {
				r := episode("maria", "hello")
				if asked != 0 {
					r.ChannelTrust = asked.String()
				}
				c, err := f.Capture(t.Context(), withTrust(user("acme"), channel), "", r)
				if asked > channel {
					wantInput(t, err, events.Refused, "trust_raised", "channel_trust")
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want := channel
				if asked != 0 {
					want = asked
				}
				a := events.Aggregate{Tenant: f.tenant().Token(), Kind: events.KindEpisode, ID: c.ID}
				last, err := f.log.Last(t.Context(), a)
				if want == events.TrustExternal {
					if err != nil {
						t.Fatal(err)
					}
					q, ok := last.Events[0].(events.EpisodeQuarantined)
					if c.Status != producers.StatusQuarantined || !ok || q.Trust != want || c.Position != last.Position {
						t.Fatalf("%s as %s: %+v, %+v", channel, asked, c, last)
					}
					continue
				}
				if e, ok := last.Events[0].(events.EpisodeCaptured); !ok || e.Trust != want || c.Status != producers.StatusCaptured {
					t.Fatalf("%s as %s: %+v", channel, asked, e)
				}
			}
		}
	})
}

func TestQuarantineKeepsTheCommit(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	f := s.open(t)
	c, err := f.Capture(t.Context(), withTrust(user("acme"), events.TrustExternal), "k", episode("maria", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.Capture(t.Context(), withTrust(user("acme"), events.TrustExternal), "k", episode("maria", "hello"))
	if err != nil || again != c || c.Position == 0 {
		t.Fatalf("%+v then %+v, %v", c, again, err)
	}
	p, ok := s.quarantine.(*nodetest.Quarantine)
	if !ok || p.Len() != 1 {
		t.Fatalf("%d in quarantine", p.Len())
	}
	m, err := p.Get(t.Context(), f.tenant().Token(), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	r, err := events.Decode(m)
	if err != nil || r.ID != c.ID || r.Aggregate.Kind != events.KindEpisode {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestCaptureIdempotency(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		ctx, who := t.Context(), user("acme")
		r := episode("maria", "hello")
		r.Metadata = map[string]jsontext.Value{"k": jsontext.Value(`{"a":1,"b":1.0}`)}
		one, err := f.Capture(ctx, who, "key", r)
		if err != nil {
			t.Fatal(err)
		}
		before := f.messages()
		same := r
		same.Metadata = map[string]jsontext.Value{"k": jsontext.Value(` {"b":1,"a":1}`)}
		for _, g := range []*fixture{f, s.open(t)} {
			if two, err := g.Capture(ctx, who, "key", same); err != nil || two != one {
				t.Fatalf("%+v, %v, want %+v", two, err, one)
			}
		}
		other := r
		other.Text = "goodbye"
		if _, err := f.Capture(ctx, who, "key", other); !errors.Is(err, events.ErrKeyReused) {
			t.Fatalf("other body: %v", err)
		}
		other = r
		other.Subject = "nobody else"
		if _, err := f.Capture(ctx, who, "key", other); !errors.Is(err, events.ErrKeyReused) {
			t.Fatalf("other subject: %v", err)
		}
		if n := f.messages(); n != before {
			t.Fatalf("%d messages, want %d", n, before)
		}
		somebody := who
		somebody.Principal = "another"
		theirs, err := f.Capture(ctx, somebody, "key", other)
		if err != nil || theirs.ID == one.ID {
			t.Fatalf("another principal: %+v, %v", theirs, err)
		}
		elsewhere, err := f.Capture(ctx, user("acme-corp"), "key", r)
		if err != nil || elsewhere.ID == one.ID {
			t.Fatalf("another tenant: %+v, %v", elsewhere, err)
		}
		f.forgetEpisode(one.ID)
		for range 2 {
			if _, err := f.Capture(ctx, who, "key", r); !errors.Is(err, events.ErrForgotten) {
				t.Fatalf("forgotten: %v", err)
			}
			if _, err := f.keys.Record(ctx, f.tenant().Token(), one.ID); !errors.Is(err, seal.ErrKeyDestroyed) {
				t.Fatalf("the key came back: %v", err)
			}
		}
	})
}

// A first attempt that died after its key row, or after its event.
func TestCaptureAfterACrash(t *testing.T) {
	t.Parallel()
	for name, plan := range map[string]func(*faultyLog){
		"before the event": func(l *faultyLog) { l.before = unavailable },
		"after the event":  func(l *faultyLog) { l.after = unavailable },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachStore(t, func(t *testing.T, s store) {
				f := s.open(t)
				f.capture("maria", "before")
				before := f.messages()
				log := &faultyLog{Log: s.log, kind: events.KindEpisode}
				plan(log)
				dying := s.openOn(t, log, s.rows)
				if _, err := dying.Capture(t.Context(), user("acme"), "key", episode("maria", "hello")); !errors.Is(err, events.ErrUnavailable) {
					t.Fatal(err)
				}
				c, err := f.Capture(t.Context(), user("acme"), "key", episode("maria", "hello"))
				if err != nil {
					t.Fatal(err)
				}
				if again, err := f.Capture(t.Context(), user("acme"), "key", episode("maria", "hello")); err != nil || again != c {
					t.Fatalf("%+v, %v, want %+v", again, err, c)
				}
				if n := f.messages(); n != before+1 {
					t.Errorf("%d messages, want %d", n, before+1)
				}
			})
		})
	}
}

// All retries of one command at once are one episode.
func TestCaptureConcurrentRetries(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		const n = 20
		answers, errs := make([]producers.Captured, n), make([]error, n)
		gateways := []*fixture{s.open(t), s.open(t)}
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				answers[i], errs[i] = gateways[i%2].Capture(t.Context(), user("acme"), "key", episode("maria", "hello"))
			})
		}
		wg.Wait()
		for i := range n {
			if errs[i] != nil || answers[i] != answers[0] {
				t.Fatalf("%+v, %v, want %+v", answers[i], errs[i], answers[0])
			}
		}
		if m := gateways[0].messages(); m != 2 {
			t.Errorf("%d messages, want subject and episode", m)
		}
	})
}

// A subject that another process forgot is a new one here at once, though this
// process remembers the old id.
func TestCaptureAfterForgetElsewhere(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		here, there := s.open(t), s.open(t)
		old := here.capture("maria", "before")
		oldSid := subjectOf(here, old)
		there.forgetSubject("maria")
		c, err := here.Capture(t.Context(), user("acme"), "key", episode("maria", "after"))
		if err != nil {
			t.Fatal(err)
		}
		if sid := subjectOf(here, c.ID); sid == oldSid {
			t.Fatal("captured under the forgotten id")
		}
		if again, err := there.Capture(t.Context(), user("acme"), "key", episode("maria", "after")); err != nil || again != c {
			t.Fatalf("%+v, %v", again, err)
		}
	})
}

// No key of a forgotten subject is left when a late capture has started again.
func TestLateCaptureLeavesNoKey(t *testing.T) {
	t.Parallel()
	s := inMemory(t)
	here, there := s.open(t), s.open(t)
	sid := subjectOf(here, here.capture("maria", "before"))
	there.forgetSubject("maria")
	here.capture("maria", "after")
	for row, err := range s.rows.List(t.Context(), "k2."+here.tenant().Token()) {
		if err != nil || strings.Contains(row.Key, sid) {
			t.Fatalf("%s is left, %v", row.Key, err)
		}
	}
}

// A forget between the key and the event: the tombstone is seen.
func TestCaptureDuringForget(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		sid := subjectOf(f, f.capture("maria", "before"))
		f.tombSubject("maria") // keys and name are still there
		c := f.capture("maria", "after")
		if subjectOf(f, c) == sid {
			t.Fatal("captured under the forgotten id")
		}
	})
}

// A key that was used for a subject that was forgotten since.
func TestKeyOfForgottenSubject(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s store) {
		f := s.open(t)
		ctx := t.Context()
		c, err := f.Capture(ctx, user("acme"), "key", episode("maria", "hello"))
		if err != nil {
			t.Fatal(err)
		}
		f.forgetSubject("maria")
		if _, err := f.Capture(ctx, user("acme"), "key", episode("maria", "hello")); !errors.Is(err, events.ErrForgotten) {
			t.Fatal(err)
		}
		if err := f.keys.DestroyRecord(ctx, f.tenant().Token(), c.ID); err != nil { // the sweep
			t.Fatal(err)
		}
		if _, err := f.Capture(ctx, user("acme"), "key", episode("maria", "hello")); !errors.Is(err, events.ErrForgotten) {
			t.Fatal(err)
		}
		if fresh := f.capture("maria", "hello"); fresh == c.ID {
			t.Fatal("not a new episode")
		}
	})
}

func subjectOf(f *fixture, episode string) string {
	f.Helper()
	e, ok := f.last(events.KindEpisode, episode).Events[0].(events.EpisodeCaptured)
	if !ok {
		f.Fatal("not an episode")
	}
	return e.Subject
}
