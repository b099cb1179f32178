package node_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/backup"
)

// TestRestoreKeepsHolds puts back data that is older than a hold and what was
// forgotten under it, than the end of a hold, and than a consent that was withdrawn:
// what is held keeps its keys and is shown to nobody until it is lifted, and then it
// goes; what is not held any more goes at once; the consent stays withdrawn.
func TestRestoreKeepsHolds(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	held, lifted, kept := plant(f, token, "maria", "zanzibarword"), plant(f, token, "lev", "quetzalword"), plant(f, token, "petra", "marigoldword")
	hold := func(f *fixture, method, subject string) tombstones.Hold {
		return as[tombstones.Hold](f.do(token, method, "/v1/subjects/"+subject+"/holds/case-7", nil, http.StatusOK))
	}
	const consent = "/v1/subjects/petra/consents/health"
	f.do(token, http.MethodPut, consent, obj{"granted": true, "basis": "form 12"}, http.StatusOK)
	under := f.capture(token, "petra", "Petra has asthma.", "category", "health")
	hold(f, http.MethodPut, "lev")
	forget := func(p planted) string {
		out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/"+p.subject+"/forget", obj{}, http.StatusAccepted))
		if out.Level != events.LevelHeld {
			t.Errorf("%s: %s", p.subject, out.Level)
		}
		return out.ErasureID
	}
	second := forget(lifted)
	f.settle()
	data, keys := f.artefact(backup.KindData), f.artefact(backup.KindKeys)
	hold(f, http.MethodPut, "maria")
	first := forget(held)
	if h := hold(f, http.MethodDelete, "lev"); h.Held {
		t.Fatal("it is held still")
	}
	f.reaches(token, second, events.LevelPurged)
	withdrawn := as[struct {
		Erasure tombstones.Erasure `json:"erasure"`
	}](f.do(token, http.MethodPut, consent, obj{"granted": false}, http.StatusOK)).Erasure.ErasureID
	f.do(token, http.MethodPut, "/v1/subjects/petra/consents/travel", obj{"granted": true, "basis": "form 13"}, http.StatusOK)
	f.reaches(token, withdrawn, events.LevelPurged)

	g, r := f.restored(f.restoring(data, keys, f.artefact(backup.KindLedger)))
	if r.Changes != 4 || r.Bare != 1 || r.Held == 0 {
		t.Errorf("%+v", r)
	}
	g.settle()
	for name, a := range held.elsewhere(g).reads() {
		if bytes.Contains(a.body, []byte(held.word)) {
			t.Errorf("%s shows what is held: %s", name, a.body)
		}
	}
	g.reaches(token, first, events.LevelHeld)
	if l := g.erasure(token, first).Level; l != events.LevelHeld {
		t.Errorf("forgotten under a hold: %s", l)
	}
	g.hasKey("acme", held.episode)
	g.hasKey("acme", kept.episode)
	g.reaches(token, second, events.LevelPurged)
	g.noKey("acme", lifted.episode)
	g.reaches(token, withdrawn, events.LevelPurged)
	g.noKey("acme", under)
	g.do(token, http.MethodGet, "/v1/episodes/"+under, nil, http.StatusGone)
	state := g.subject(g.tenant("acme"), "petra")
	given := 0
	for _, is := range state.Consents {
		if is {
			given++
		}
	}
	if len(state.Consents) != 2 || given != 1 {
		t.Errorf("consents %v", state.Consents)
	}
	a := g.do(token, http.MethodGet, "/v1/subjects/petra/export", nil, http.StatusOK)
	if !bytes.Contains(a.body, []byte("form 12")) || bytes.Contains(a.body, []byte("form 13")) {
		t.Errorf("the consents of the export: %s", a.body)
	}
	if h := hold(g, http.MethodDelete, "maria"); h.Held {
		t.Error("it is held still")
	}
	g.reaches(token, first, events.LevelPurged)
	g.noKey("acme", held.episode)
	g.hasKey("acme", kept.episode)
	g.replaysAlike()
	if a := g.compare(); get[string](a, "state") != "done" {
		t.Errorf("the log: %s", a.body)
	}
}

// TestHoldCutOff holds that a hold whose process ended before the ledger knew of it is
// told to the ledger at the next start.
func TestHoldCutOff(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "maria", "Maria plays the cello.")
	f.settle()
	data, keys := f.artefact(backup.KindData), f.artefact(backup.KindKeys)
	tenant := f.tenant("acme")
	state := f.subject(tenant, "maria")
	const id = "01a22d34-bbf0-7e1a-b451-e043380e6679"
	_, err := f.Log().Append(t.Context(), events.Commit{
		ID: id, Aggregate: events.Aggregate{Tenant: tenant, Kind: events.KindSubject, ID: f.subjectID("maria")},
		Events: []events.Event{events.SubjectHeld{Hold: "h"}}, Time: events.Micro(time.Now()),
	}, events.Expect(state.Position))
	if err != nil {
		t.Fatal(err)
	}
	if _, r := f.restored(f.restoring(data, keys, f.artefact(backup.KindLedger))); r.Changes != 0 {
		t.Fatalf("control: the ledger knows of it: %+v", r)
	}
	f.close()
	f.start()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for known := false; !known; {
		for m, err := range f.streams().Ledger().Read(t.Context(), "subject.*", 0) {
			if err != nil {
				t.Fatal(err)
			}
			known = known || bytes.Contains(m.Data, []byte(`"held"`))
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("the ledger does not get to know of it")
		}
	}
	g, r := f.restored(f.restoring(data, keys, f.artefact(backup.KindLedger)))
	if r.Changes != 1 || len(g.subject(tenant, "maria").Holds) != 1 {
		t.Errorf("%+v", r)
	}
}

func (f *fixture) subjectID(name string) string {
	f.t.Helper()
	t, err := f.Keys().Tenant(f.t.Context(), "acme", false)
	if err != nil {
		f.t.Fatal(err)
	}
	sid, err := t.SubjectID(f.t.Context(), name, false)
	if err != nil {
		f.t.Fatal(err)
	}
	return sid
}

// subject is a subject of acme as the log has it.
func (f *fixture) subject(tenant, name string) events.SubjectState {
	f.t.Helper()
	s, err := events.ReadSubject(f.t.Context(), f.Log(), tenant, f.subjectID(name))
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// hasKey holds that a record has its key.
func (f *fixture) hasKey(tenant, id string) {
	f.t.Helper()
	if _, err := f.Keys().Record(f.t.Context(), f.tenant(tenant), id); err != nil {
		f.t.Errorf("a key that is to be there: %v", err)
	}
}
