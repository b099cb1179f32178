package node_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// promise 10: bad input gets its status, code and field, and
// nothing has happened. Each row has its control: the good request, once, at
// the beginning.
func TestBadInput(t *testing.T) {
	t.Parallel()
	f := open(t)
	token, foreign := f.token("acme"), f.token("else")
	source := f.capture(token, "maria", "She lives in Porto.")
	theirs := f.capture(foreign, "maria", "She lives in Porto.")
	good := proposal("maria", "city", "Porto", source)
	fact := get[string](f.do(token, http.MethodPost, "/v1/facts", good, http.StatusCreated), "fact_id")
	episode := obj{"subject": "maria", "text": "t", "source": obj{"kind": "chat", "ref": "r"}}
	f.do(token, http.MethodPost, "/v1/episodes", episode, http.StatusCreated, "Idempotency-Key", "k1")
	f.settle()

	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	ep := func(name string, v any) string { return encode(with(episode, name, v)) }
	prop := func(name string, v any) string { return encode(with(good, name, v)) }
	future := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	const post, gets, del = http.MethodPost, http.MethodGet, http.MethodDelete
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code, field              string
		header                   []string
	}{
		{"unknown field", post, "/v1/episodes", ep("tenant", "x"), 400, "unknown_field", "tenant", nil},
		{"unknown nested field", post, "/v1/episodes", ep("source", obj{"kind": "a", "ref": "b", "x": 1}), 400, "unknown_field", "source.x", nil},
		{"other case", post, "/v1/episodes", ep("Text", "x"), 400, "unknown_field", "Text", nil},
		{"repeated field", post, "/v1/episodes", `{"subject":"a","subject":"b"}`, 400, "repeated_field", "subject", nil},
		{"no offset", post, "/v1/episodes", ep("occurred_at", "2026-01-02T03:04:05"), 400, "bad_time", "occurred_at", nil},
		{"no time at all", post, "/v1/episodes", ep("occurred_at", "yesterday"), 400, "bad_time", "occurred_at", nil},
		{"future episode", post, "/v1/episodes", ep("occurred_at", future), 422, "in_the_future", "occurred_at", nil},
		{"future observation", post, "/v1/facts", prop("observed_at", future), 422, "in_the_future", "observed_at", nil},
		{"NaN confidence", post, "/v1/facts", strings.Replace(encode(good), "0.99", "NaN", 1), 400, "malformed", "confidence", nil},
		{"confidence over 1", post, "/v1/facts", prop("confidence", 1.01), 400, "out_of_range", "confidence", nil},
		{"text as a number", post, "/v1/episodes", ep("text", 7), 400, "malformed", "text", nil},
		{"no text", post, "/v1/episodes", ep("text", ""), 400, "missing", "text", nil},
		{"no subject", post, "/v1/episodes", ep("subject", ""), 400, "missing", "subject", nil},
		{"2 MB of text", post, "/v1/episodes", ep("text", strings.Repeat("a", 2<<20)), 413, "too_large", "text", nil},
		{"NUL in the text", post, "/v1/episodes", ep("text", "a\x00b"), 400, "nul", "text", nil},
		{"NUL in the subject", post, "/v1/episodes", ep("subject", "a\x00b"), 400, "control_character", "subject", nil},
		{"lone surrogate", post, "/v1/episodes", strings.Replace(encode(episode), `"t"`, `"\ud800"`, 1), 400, "invalid_encoding", "text", nil},
		{"invalid UTF-8", post, "/v1/episodes", strings.Replace(encode(episode), `"t"`, "\"\xff\"", 1), 400, "invalid_encoding", "text", nil},
		{"not JSON", post, "/v1/episodes", `{`, 400, "malformed", "body", nil},
		{"two values", post, "/v1/episodes", encode(episode) + encode(episode), 400, "malformed", "body", nil},
		{"an array", post, "/v1/episodes", `[]`, 400, "malformed", "body", nil},
		{"raised trust", post, "/v1/episodes", ep("channel_trust", "system"), 422, "trust_raised", "channel_trust", nil},
		{"unknown trust", post, "/v1/episodes", ep("channel_trust", "best"), 400, "unknown_value", "channel_trust", nil},
		{"unknown sensitivity", post, "/v1/episodes", ep("sensitivity", "odd"), 400, "unknown_value", "sensitivity", nil},
		{"empty batch", post, "/v1/episodes/batch", `{"items":[]}`, 400, "missing", "items", nil},
		{"ends before it begins", post, "/v1/facts", encode(with(with(good, "valid_from", "2026-01-02T00:00:00Z"), "valid_to", "2026-01-01T00:00:00Z")), 422, "empty_interval", "valid_to", nil},
		{"wildcard id", gets, "/v1/episodes/*", "", 404, "not_found", "", nil},
		{"wildcard id >", gets, "/v1/facts/%3E", "", 404, "not_found", "", nil},
		{"foreign episode", gets, "/v1/episodes/" + theirs, "", 404, "not_found", "", nil},
		{"foreign fact to retract", post, "/v1/facts/" + theirs + "/retract", `{"reason":"x"}`, 404, "not_found", "", nil},
		{"foreign delete", del, "/v1/episodes/" + theirs, "", 404, "not_found", "", nil},
		{"delete of what is not there", del, "/v1/facts/0190a1b2-0000-7000-8000-000000000000", "", 404, "not_found", "", nil},
		{"an episode deleted as a fact", del, "/v1/facts/" + source, "", 404, "not_found", "", nil},
		{"key with another body", post, "/v1/episodes", ep("text", "other"), 409, "idempotency_key_reused", "", []string{"Idempotency-Key", "k1"}},
		{"empty key", post, "/v1/episodes", encode(episode), 400, "missing", "Idempotency-Key", []string{"Idempotency-Key", ""}},
		{"unknown parameter", gets, "/v1/facts?subject=maria&tenant=else", "", 400, "unknown_field", "tenant", nil},
		{"repeated parameter", gets, "/v1/facts?subject=maria&subject=x", "", 400, "repeated_field", "subject", nil},
		{"no subject to list", gets, "/v1/facts", "", 400, "missing", "subject", nil},
		{"edited cursor", gets, "/v1/facts?subject=maria&cursor=abc", "", 400, "bad_cursor", "cursor", nil},
		{"unknown include", gets, "/v1/facts?subject=maria&include=all", "", 400, "unknown_value", "include", nil},
		{"position that is none", gets, "/v1/facts?subject=maria&wait_for=x", "", 400, "malformed", "wait_for", nil},
		{"empty query", post, "/v1/recall", `{"query":""}`, 400, "missing", "query", nil},
		{"k of zero", post, "/v1/recall", `{"query":"a","k":0}`, 400, "out_of_range", "k", nil},
		{"unknown kind", post, "/v1/recall", `{"query":"a","kinds":["dream"]}`, 400, "unknown_value", "kinds[0]", nil},
		{"unknown operator", post, "/v1/recall", `{"query":"a","filter":{"x":{"$near":1}}}`, 400, "unknown_operator", "filter[0][0]", nil},
		{"nothing to forget", post, "/v1/forget", `{"reason":"x"}`, 400, "exactly_one", "ids", nil},
		{"empty filter", post, "/v1/forget", `{"filter":{}}`, 400, "", "filter", nil},
		{"wildcard filter", post, "/v1/forget", `{"filter":{"subject":"*"},"max":0}`, 400, "", "", nil},
		{"unknown filter", post, "/v1/forget", `{"filter":{"user_id":"maria"}}`, 400, "unknown_field", "filter.user_id", nil},
		{"over the cap", post, "/v1/forget", `{"filter":{"subject":"maria"},"max":1}`, 422, "over_max", "", nil},
		{"no such path", gets, "/v1/nothing", "", 404, "no_such_path", "", nil},
		{"wrong method", del, "/v1/recall", "", 405, "method_not_allowed", "", nil},
	} {
		before := f.head()
		a := f.call(token, c.method, c.path, []byte(c.body), c.header...)
		if a.status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, a.status, c.status, a.body)
			continue
		}
		var p struct{ Code, Field string }
		if err := json.Unmarshal(a.body, &p, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if (c.code != "" && p.Code != c.code) || (c.field != "" && p.Field != c.field) {
			t.Errorf("%s: %s %q, want %s %q: %s", c.name, p.Code, p.Field, c.code, c.field, a.body)
		}
		if after := f.head(); after != before {
			t.Errorf("%s: the log went from %d to %d", c.name, before, after)
		}
	}
	// A batch reports item by item: each bad one refuses itself alone.
	batch := f.call(token, post, "/v1/episodes/batch", []byte(`{"items":[`+ep("text", "kept")+`,`+ep("tenant", "x")+`,`+
		ep("occurred_at", "2026-01-02")+`,7,`+ep("text", "")+`]}`))
	for i, want := range []string{`"status":"captured"`, `unknown_field`, `bad_time`, `malformed`, `missing`} {
		var a struct{ Results []jsontext.Value }
		if err := json.Unmarshal(batch.body, &a, json.MatchCaseInsensitiveNames(true)); err != nil || len(a.Results) != 5 {
			t.Fatalf("batch: %v: %s", err, batch.body)
		}
		if !strings.Contains(string(a.Results[i]), want) {
			t.Errorf("batch: item %d is %s, want %s", i, a.Results[i], want)
		}
	}
	f.do(token, gets, "/v1/facts/"+fact, nil, http.StatusOK) // all of it is still there
	f.do(token, gets, "/v1/episodes/"+source, nil, http.StatusOK)
	f.do(foreign, gets, "/v1/episodes/"+theirs, nil, http.StatusOK)
}
