package node_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/annals-memory/annals/events"
)

// What was forgotten and is to be kept out does not come back, in whatever dress,
// under another subject, after a restart; another value does, and another tenant's.
func TestSuppressedDoesNotReenter(t *testing.T) {
	t.Parallel()
	f := open(t)
	token, other := f.token("acme"), f.token("other")
	episode := f.capture(token, "maria", "Maria lives at Rua Ferreira 9.")
	source := f.capture(token, "maria", "Something else.")
	fact := get[string](f.do(token, http.MethodPost, "/v1/facts", proposal("maria", "address", "Rua Ferreira 9", source), http.StatusCreated), "fact_id")
	smokes := get[string](f.do(token, http.MethodPost, "/v1/facts", proposal("maria", "smokes", true, source), http.StatusCreated), "fact_id")
	plain := f.capture(token, "maria", "Forgotten and not kept out.")
	f.settle()
	forget := obj{"ids": []string{episode, fact, smokes}, "suppress": true}
	f.do(f.token("acme", events.RoleAgent), http.MethodPost, "/v1/forget", forget, http.StatusForbidden)
	f.do(token, http.MethodGet, "/v1/episodes/"+episode, nil, http.StatusOK)
	f.do(token, http.MethodPost, "/v1/forget", with(forget, "dry_run", true), http.StatusAccepted)
	capture := func(token, text string, want int) {
		t.Helper()
		body := obj{"subject": "pedro", "text": text, "source": obj{"kind": "chat", "ref": "r"}}
		a := f.do(token, http.MethodPost, "/v1/episodes", body, want)
		if want == http.StatusUnprocessableEntity && (get[string](a, "code") != "suppressed" || bytes.Contains(a.body, []byte("Ferreira"))) {
			t.Errorf("refused with %s", a.body)
		}
	}
	capture(token, "maria lives at rua ferreira 9.", http.StatusCreated) // a dry run keeps nothing out
	f.do(token, http.MethodPost, "/v1/forget", forget, http.StatusAccepted)
	f.do(token, http.MethodPost, "/v1/forget", obj{"ids": []string{plain}}, http.StatusAccepted)
	check := func() {
		t.Helper()
		for _, text := range []string{
			"Maria lives at Rua Ferreira 9.", "  MARIA lives\tat  rua ferreira 9.\n", "Maria li\u200bves at Rua Fer\u00adreira 9.",
			"\uff2daria lives at Rua Ferreira 9.", "Rua Ferreira 9",
		} {
			capture(token, text, http.StatusUnprocessableEntity)
		}
		capture(token, "Forgotten and not kept out.", http.StatusCreated)
		capture(token, "Maria lives at Rua Ferreira 10.", http.StatusCreated)
		capture(other, "Maria lives at Rua Ferreira 9.", http.StatusCreated)
		source := f.capture(token, "pedro", "Another source.")
		for predicate, value := range map[string]any{"home": "rua ferreira 9", "smokes": true} {
			f.do(token, http.MethodPost, "/v1/facts", proposal("pedro", predicate, value, source), http.StatusUnprocessableEntity)
		}
		for predicate, value := range map[string]any{"drinks": true, "smokes": false, "home": "Rua Ferreira 11"} {
			f.do(token, http.MethodPost, "/v1/facts", proposal("pedro", predicate, value, source), http.StatusCreated)
		}
		items := obj{"items": []obj{
			{"subject": "pedro", "text": "Rua Ferreira 9", "source": obj{"kind": "chat", "ref": "r"}},
			{"subject": "pedro", "text": "Rua Ferreira 12", "source": obj{"kind": "chat", "ref": "r"}},
		}}
		a := f.do(token, http.MethodPost, "/v1/episodes/batch", items, http.StatusOK)
		results := get[[]any](a, "results")
		if !bytes.Contains(a.body, []byte(`"code":"suppressed"`)) || !bytes.Contains(a.body, []byte(`"items[0].text"`)) || len(results) != 2 {
			t.Errorf("batch: %s", a.body)
		}
	}
	check()
	f.close()
	f.start()
	f.settle()
	check()
}

func TestSuppressedSubject(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "maria", "Her number is 555 0199.")
	f.settle()
	f.do(f.token("acme", events.RoleAgent), http.MethodPost, "/v1/subjects/maria/forget", obj{"suppress": true}, http.StatusForbidden)
	f.do(token, http.MethodPost, "/v1/subjects/maria/forget", obj{"suppress": true}, http.StatusAccepted)
	body := obj{"subject": "maria", "text": "her number is 555 0199.", "source": obj{"kind": "chat", "ref": "r"}}
	f.do(token, http.MethodPost, "/v1/episodes", body, http.StatusUnprocessableEntity)
	f.do(token, http.MethodPost, "/v1/episodes", with(body, "text", "her number is 555 0198."), http.StatusCreated)
}
