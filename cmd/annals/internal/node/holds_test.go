package node_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	names "github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones"
)

// While a subject is held nothing shows it and nothing of it is destroyed,
// whatever is asked; when the last hold is lifted everything that was asked is done.
func TestHolds(t *testing.T) {
	t.Parallel()
	for how, forget := range map[string]func(p planted) answer{
		"one record": func(p planted) answer {
			return p.f.do(p.token, http.MethodDelete, "/v1/episodes/"+p.episode, nil, http.StatusAccepted)
		},
		"a filter": func(p planted) answer {
			return p.f.do(p.token, http.MethodPost, "/v1/forget", obj{"filter": obj{"session": "session-" + p.word}}, http.StatusAccepted)
		},
		"the subject": func(p planted) answer {
			return p.f.do(p.token, http.MethodPost, "/v1/subjects/"+p.subject+"/forget", obj{}, http.StatusAccepted)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			f := open(t)
			token := f.token("acme")
			p, kept := plant(f, token, "maria", "xyzzymaria"), plant(f, token, "jonas", "plughjonas")
			hold := func(method, name string) tombstones.Hold {
				return as[tombstones.Hold](f.do(token, method, "/v1/subjects/maria/holds/"+name, nil, http.StatusOK))
			}
			hold(http.MethodPut, "case-7")
			hold(http.MethodPut, "case-8")
			if h, end := hold(http.MethodPut, "case-7"), f.head(); !h.Held || end != f.head() {
				t.Errorf("again: %+v", h)
			}
			for name, a := range p.reads() {
				if bytes.Contains(a.body, []byte(p.word)) && !bytes.Contains([]byte(name), []byte("/export")) {
					t.Errorf("%s shows what is held: %s", name, a.body)
				}
			}
			out := as[tombstones.Erasure](forget(p))
			if out.Level != events.LevelHeld {
				t.Errorf("forgotten under a hold: %+v", out)
			}
			f.close()
			f.start() // what is finished at a start is not this
			f.settle()
			if again := as[tombstones.Erasure](forget(p)); again.Level != events.LevelHeld && again.Matched != 0 {
				t.Errorf("forgotten again: %+v", again)
			}
			if l := f.erasure(token, out.ErasureID).Level; l != events.LevelHeld {
				t.Errorf("after a start: %s", l)
			}
			if a := f.call(token, http.MethodPost, "/v1/episodes", []byte(`{"subject":"maria","text":"late","source":{"kind":"chat","ref":"r"}}`)); how == "the subject" && a.status != http.StatusConflict {
				t.Errorf("a write to what is forgotten and held: %d %s", a.status, a.body)
			}
			if got := f.positions(events.KindEpisode, p.episode); len(got) < 1 {
				t.Error("the episode is not in the log any more")
			}
			tenant, err := f.Keys().Tenant(t.Context(), "acme", false)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Keys().Record(t.Context(), tenant.Token(), p.episode); err != nil {
				t.Errorf("its key: %v", err)
			}
			if h := hold(http.MethodDelete, "case-8"); !h.Held {
				t.Error("one of two holds lifts both")
			}
			if l := f.erasure(token, out.ErasureID).Level; l != events.LevelHeld {
				t.Errorf("one of two holds lifted: %s", l)
			}
			if h := hold(http.MethodDelete, "case-7"); h.Held {
				t.Error("it is held still")
			}
			f.reaches(token, out.ErasureID, events.LevelPurged)
			f.noKey("acme", p.episode)
			if got := f.positions(events.KindEpisode, kept.episode); len(got) != 1 {
				t.Errorf("control: a neighbour is at %v", got)
			}
			f.replaysAlike()
		})
	}
}

// A hold is an admin's, on a subject that is there.
func TestHoldRefused(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "maria", "Maria plays the cello.")
	f.settle()
	end := f.head()
	for path, want := range map[string]int{"/v1/subjects/nobody/holds/a": http.StatusNotFound, "/v1/subjects/maria/holds/*": http.StatusBadRequest} {
		if a := f.call(token, http.MethodPut, path, nil); a.status != want {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	for _, other := range []string{f.token("acme", events.RoleAgent), f.token("acme", events.RoleReviewer, events.RoleAuditor)} {
		if a := f.call(other, http.MethodPut, "/v1/subjects/maria/holds/a", nil); a.status != http.StatusForbidden {
			t.Errorf("without the role: %d", a.status)
		}
	}
	if a := f.call(f.token("other"), http.MethodPut, "/v1/subjects/maria/holds/a", nil); a.status != http.StatusNotFound {
		t.Errorf("another tenant: %d", a.status)
	}
	if f.head() != end {
		t.Error("a refusal has written")
	}
}

// A consent that is withdrawn takes what was kept under it along, and nothing else.
func TestConsents(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	const path = "/v1/subjects/maria/consents/health"
	given := f.do(token, http.MethodPut, path, obj{"granted": true, "basis": "form 12"}, http.StatusOK)
	if again := f.do(token, http.MethodPut, path, obj{"granted": true}, http.StatusOK); !bytes.Equal(given.body, again.body) {
		t.Errorf("granted again: %s", again.body)
	}
	under, beside := f.capture(token, "maria", "Maria has asthma.", "category", "health"), f.capture(token, "maria", "Maria swims.", "category", "sport")
	other := f.capture(token, "jonas", "Jonas has asthma.", "category", "health")
	f.settle()
	out := as[struct {
		Granted bool
		Erasure tombstones.Erasure `json:"erasure"`
	}](f.do(token, http.MethodPut, path, obj{"granted": false}, http.StatusOK))
	if out.Granted || out.Erasure.Matched != 1 || out.Erasure.Level != events.LevelShredded {
		t.Errorf("withdrawn: %+v", out)
	}
	s := f.reaches(token, out.Erasure.ErasureID, events.LevelPurged)
	if s.Cause != events.CauseConsent || s.Scope != "category" {
		t.Errorf("account %+v", s)
	}
	for id, want := range map[string]int{under: http.StatusGone, beside: http.StatusOK, other: http.StatusOK} {
		f.do(token, http.MethodGet, "/v1/episodes/"+id, nil, want)
	}
	f.do(token, http.MethodPut, path, obj{"granted": true}, http.StatusOK)
	later := f.capture(token, "maria", "Maria is well.", "category", "health")
	f.close()
	f.start() // which must not take back what came later
	f.settle()
	f.do(token, http.MethodGet, "/v1/episodes/"+later, nil, http.StatusOK)
	f.do(token, http.MethodPut, path, obj{"basis": "x"}, http.StatusBadRequest)
	f.do(token, http.MethodPut, "/v1/subjects/nobody/consents/health", obj{"granted": false}, http.StatusNotFound)
	f.do(f.token("acme", events.RoleReviewer), http.MethodPut, path, obj{"granted": true}, http.StatusForbidden)
	a := f.do(token, http.MethodGet, "/v1/subjects/maria/export", nil, http.StatusOK)
	if !bytes.Contains(a.body, []byte("form 12")) {
		t.Errorf("the export has no consent: %s", a.body)
	}
}

// A consent whose withdrawal was cut off before anything was forgotten is withdrawn
// at the next start.
func TestConsentCutOff(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	under, beside := f.capture(token, "maria", "Maria has asthma.", "category", "health"), f.capture(token, "maria", "Maria swims.", "category", "sport")
	f.settle()
	tenant, err := f.Keys().Tenant(t.Context(), "acme", false)
	if err != nil {
		t.Fatal(err)
	}
	sid, err := tenant.SubjectID(t.Context(), "maria", false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := events.ReadSubject(t.Context(), f.Log(), tenant.Token(), sid)
	if err != nil {
		t.Fatal(err)
	}
	const erasure = "01a22d34-bbf0-7e1a-b451-e043380e6678"
	_, err = f.Log().Append(t.Context(), events.Commit{
		ID: erasure, Aggregate: events.Aggregate{Tenant: tenant.Token(), Kind: events.KindSubject, ID: sid},
		Events: []events.Event{events.ConsentWithdrawn{Category: names.Category(tenant, "health"), Erasure: erasure}}, Time: events.Micro(time.Now()),
	}, events.Expect(s.Position))
	if err != nil {
		t.Fatal(err)
	}
	f.close()
	f.start()
	f.settle()
	f.reaches(token, erasure, events.LevelPurged)
	f.do(token, http.MethodGet, "/v1/episodes/"+under, nil, http.StatusGone)
	f.do(token, http.MethodGet, "/v1/episodes/"+beside, nil, http.StatusOK)
	if got := f.erasure(token, erasure); got.Matched != 1 || got.Cause != events.CauseConsent {
		t.Errorf("account %+v", got)
	}
}
