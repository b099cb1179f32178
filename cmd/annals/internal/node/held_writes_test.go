package node_test

import (
	"net/http"
	"testing"

	"github.com/annals-memory/annals/tombstones"
)

// What is kept of a held subject stays as it is: no fact of it ends, is replaced or
// confirmed, no trace of it is reported on; and all of that is as before once the hold
// is lifted. A neighbour is not concerned.
func TestHeldFactsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	held, free := plant(f, token, "maria", "xyzzymaria"), plant(f, token, "pedro", "plughpedro")
	later := f.capture(token, "maria", "She moved.")
	f.settle()
	f.do(token, http.MethodPut, "/v1/subjects/maria/holds/case", nil, http.StatusOK)
	head := f.head()
	refused := func(method, path string, body obj, want int, code string) {
		t.Helper()
		a := f.do(token, method, path, body, want)
		if get[string](a, "code") != code {
			t.Errorf("%s %s: %s", method, path, a.body)
		}
	}
	claim := func(p planted, value string) obj {
		return with(with(proposal(p.subject, "predicate_"+p.word, value, p.episode), "scope", "scope-"+p.word), "observed_at", "2026-02-02T03:04:05Z")
	}
	use := obj{"memory_ids": []string{held.episode}}
	judge := obj{"memory_id": held.episode, "judgement": "useful"}
	refused(http.MethodPost, "/v1/facts/"+held.fact+"/retract", obj{"reason": "x"}, http.StatusConflict, "held")
	refused(http.MethodPost, "/v1/facts", claim(held, "another value"), http.StatusConflict, "held")
	refused(http.MethodPost, "/v1/facts", with(claim(held, "value "+held.word), "source_episodes", []string{later}), http.StatusConflict, "held")
	refused(http.MethodPost, "/v1/traces/"+held.trace+"/use", use, http.StatusNotFound, "not_found")
	refused(http.MethodPost, "/v1/traces/"+held.trace+"/feedback", judge, http.StatusNotFound, "not_found")
	refused(http.MethodGet, "/v1/traces/"+held.trace, nil, http.StatusNotFound, "not_found")
	if f.head() != head {
		t.Errorf("something was written: %d messages", f.head()-head)
	}
	f.do(token, http.MethodPost, "/v1/traces/"+free.trace+"/use", obj{"memory_ids": []string{free.episode}}, http.StatusOK)
	if got := get[string](f.do(token, http.MethodPost, "/v1/facts", claim(free, "another value"), http.StatusCreated), "decision"); got != "promoted" {
		t.Errorf("control: %s", got)
	}
	f.do(token, http.MethodDelete, "/v1/subjects/maria/holds/case", nil, http.StatusOK)
	f.settle()
	f.do(token, http.MethodPost, "/v1/traces/"+held.trace+"/use", use, http.StatusOK)
	f.do(token, http.MethodPost, "/v1/traces/"+held.trace+"/feedback", judge, http.StatusOK)
	f.do(token, http.MethodGet, "/v1/facts/"+held.fact, nil, http.StatusOK)
	f.do(token, http.MethodPost, "/v1/facts/"+held.fact+"/retract", obj{"reason": "x"}, http.StatusOK)
}

// Nothing is written of a subject that is forgotten and held, and every way to write
// says why; afterwards the name is free.
func TestForgottenAndHeldTakesNothing(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	source := f.capture(token, "maria", "She plays the cello.")
	f.settle()
	f.do(token, http.MethodPut, "/v1/subjects/maria/holds/case", nil, http.StatusOK)
	out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{}, http.StatusAccepted))
	episode := obj{"subject": "maria", "text": "more", "source": obj{"kind": "chat", "ref": "r"}}
	for path, body := range map[string]obj{"/v1/episodes": episode, "/v1/facts": proposal("maria", "p", 1, source)} {
		if a := f.do(token, http.MethodPost, path, body, http.StatusConflict); get[string](a, "code") != "held" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	a := f.do(token, http.MethodPut, "/v1/subjects/maria/consents/general", obj{"granted": true}, http.StatusConflict)
	if get[string](a, "code") != "held" {
		t.Errorf("consent: %s", a.body)
	}
	batch := as[struct {
		Results []struct {
			ID    string `json:"id"`
			Error *struct {
				Code string `json:"code"`
			} `json:"error"`
		} `json:"results"`
	}](f.do(token, http.MethodPost, "/v1/episodes/batch", obj{"items": []obj{episode, with(episode, "subject", "pedro"), episode}}, http.StatusOK))
	for i, r := range batch.Results {
		if held := r.Error != nil && r.Error.Code == "held"; held != (i != 1) || (r.ID == "") != held {
			t.Errorf("item %d: %+v", i, r)
		}
	}
	f.do(token, http.MethodDelete, "/v1/subjects/maria/holds/case", nil, http.StatusOK)
	f.reaches(token, out.ErasureID, tombstones.LevelPurged)
	f.do(token, http.MethodPost, "/v1/episodes", episode, http.StatusCreated)
}
