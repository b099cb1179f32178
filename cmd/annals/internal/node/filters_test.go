package node_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// filtered are the answers to the filters of one question.
type filtered struct {
	*fixture

	token string
	names map[string]string // by id
}

// asked are the names of what a filter lets through, sorted.
func (f *filtered) asked(filter string, more ...any) []string {
	f.t.Helper()
	body := obj{"query": "the red kite over the hill", "k": 50, "filter": jsontext.Value(filter), "wait_for": f.head()}
	for i := 0; i+1 < len(more); i += 2 {
		key, ok := more[i].(string)
		if !ok {
			f.t.Fatalf("a member named %v", more[i])
		}
		body[key] = more[i+1]
	}
	var names []string
	for _, r := range get[[]any](f.do(f.token, http.MethodPost, "/v1/recall", body, http.StatusOK), "results") {
		id, _ := r.(obj)["id"].(string)
		names = append(names, f.names[id])
	}
	slices.Sort(names)
	return names
}

// openFiltered has three episodes, a fact, and an episode of another tenant.
func openFiltered(t *testing.T) *filtered {
	t.Helper()
	f := &filtered{fixture: open(t), names: map[string]string{}}
	f.token = f.fixture.token("acme")
	const text = "The red kite was over the hill."
	for name, more := range map[string][]any{
		"one": {
			"session", "s1", "entities",
			[]string{"Kite", "Hill"},
			"occurred_at", "2026-01-01T00:00:00Z", "metadata",
			obj{"n": 1, "app": "web", "ok": true, "due": "2026-02-01T00:00:00Z", "big": jsontext.Value("9007199254740993")},
		},
		"two": {
			"session", "s2", "category", "hobby", "entities",
			[]string{"Hill"},
			"occurred_at", "2026-01-02T00:00:00Z", "metadata",
			obj{"n": 2.5, "app": "cli", "due": "2026-03-01T01:00:00+01:00", "big": jsontext.Value("9007199254740992")},
		},
		"bare": {"occurred_at", "2026-01-03T00:00:00Z"},
	} {
		f.names[f.capture(f.token, "maria", text, more...)] = name
	}
	f.settle()
	source := f.capture(f.token, "maria", "unrelated words")
	p := with(proposal("maria", "kite", "red, over the hill", source), "scope", "club")
	f.names[get[string](f.do(f.token, http.MethodPost, "/v1/facts", p, http.StatusCreated), "fact_id")] = "fact"
	f.names[f.capture(f.fixture.token("globex"), "maria", text, "session", "s1", "metadata", obj{"n": 1, "app": "web"})] = "foreign"
	f.settle()
	return f
}

// Every operator lets in what it should and keeps out what it should, of this tenant alone.
func TestFilterOperators(t *testing.T) {
	t.Parallel()
	f := openFiltered(t)
	everything := f.asked(`{}`)
	if len(everything) != 4 {
		t.Fatalf("without a condition: %v", everything)
	}
	for filter, want := range map[string]string{
		`{"n":1.0}`:                                    "one",
		`{"app":{"$eq":"web"}}`:                        "one",
		`{"app":{"$ne":"web"}}`:                        "bare fact two",
		`{"app":{"$in":["web","cli",7]}}`:              "one two",
		`{"app":{"$nin":["web",false]}}`:               "bare fact two",
		`{"n":{"$gt":1}}`:                              "two",
		`{"n":{"$gte":1,"$lt":2.5}}`:                   "one",
		`{"n":{"$lte":2.5}}`:                           "one two",
		`{"n":{"$gt":2.5}}`:                            "",
		`{"n":{"$gt":5,"$lt":1}}`:                      "",
		`{"big":{"$gt":9007199254740992}}`:             "one",
		`{"big":{"$lt":9007199254740993}}`:             "two",
		`{"due":{"$gte":"2026-02-01T01:00:00+01:00"}}`: "one two",
		`{"due":{"$gt":"2026-02-01T00:00:00Z"}}`:       "two",
		`{"due":{"$gt":0}}`:                            "",
		`{"app":{"$gt":0}}`:                            "",
		`{"app":{"$exists":true}}`:                     "one two",
		`{"ok":{"$exists":false}}`:                     "bare fact two",
		`{"ok":true,"n":1}`:                            "one",
		`{"ok":true,"n":2.5}`:                          "",
		`{"$and":[{"app":"web"},{"n":{"$lt":2}}]}`:     "one",
		`{"$or":[{"app":"cli"},{"$kind":"fact"}]}`:     "fact two",
		`{"$not":{"$or":[{"n":1},{"n":2.5}]}}`:         "bare fact",
		`{"$kind":"fact"}`:                             "fact",
		`{"$kind":{"$in":["fact","trajectory"]}}`:      "fact",
		`{"$kind":{"$ne":"fact"}}`:                     "bare one two",
		`{"$session":"s1"}`:                            "one",
		`{"$session":{"$exists":false}}`:               "bare fact",
		`{"$category":"hobby"}`:                        "two",
		`{"$category":{"$nin":["hobby"]}}`:             "bare fact one",
		`{"$scope":{"$exists":true}}`:                  "fact",
		`{"$scope":"club"}`:                            "fact",
		`{"$entity":"Kite"}`:                           "one",
		`{"$entity":{"$in":["Hill","x"]}}`:             "one two",
		`{"$entity":{"$ne":"Kite"}}`:                   "bare fact two",
		`{"$trust":{"$gte":"agent"}}`:                  "bare fact one two",
		`{"$trust":{"$gt":"user"}}`:                    "",
		`{"$trust":"user"}`:                            "bare fact one two",
		`{"$occurred_at":{"$gte":"2026-01-02T00:00:00Z","$lt":"2026-01-03T00:00:00Z"}}`: "fact two",
		`{"$observed_at":"2026-01-02T03:04:05Z"}`:                                       "fact",
		`{"$observed_at":{"$in":["2026-01-01T00:00:00Z","2026-01-03T00:00:00Z"]}}`:      "bare one",
	} {
		if got := strings.Join(f.asked(filter), " "); got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
}

// A filter goes with the times of a recall, and with its other conditions.
func TestFilterAndTimes(t *testing.T) {
	t.Parallel()
	f := openFiltered(t)
	known := time.Now().UTC().Format(time.RFC3339Nano)
	f.names[f.capture(f.token, "maria", "The red kite was over the hill again.", "occurred_at", "2026-01-02T12:00:00Z", "metadata", obj{"n": 4})] = "late"
	f.settle()
	const numbered = `{"n":{"$gte":1}}`
	for name, c := range map[string]struct {
		more []any
		want string
	}{
		"now":            {nil, "late one two"},
		"as of":          {[]any{"as_of", "2026-01-02T00:00:00Z"}, "one two"},
		"known at":       {[]any{"known_at", known}, "one two"},
		"both":           {[]any{"known_at", known, "as_of", "2026-01-01T12:00:00Z"}, "one"},
		"long ago":       {[]any{"known_at", "2020-01-01T00:00:00Z"}, ""},
		"subject":        {[]any{"subject", "maria", "session", "s2"}, "two"},
		"another":        {[]any{"subject", "jonas"}, ""},
		"kind without":   {[]any{"kinds", []string{"fact"}}, ""},
		"occurred":       {[]any{"occurred", obj{"from": "2026-01-02T00:00:00Z", "to": "2026-01-02T06:00:00Z"}}, "two"},
		"strong reading": {[]any{"consistency", "strong"}, "late one two"},
	} {
		if got := strings.Join(f.asked(numbered, c.more...), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := strings.Join(f.asked(`{"$kind":"fact"}`, "as_of", "2026-01-02T00:00:00Z"), " "); got != "" {
		t.Errorf("a fact is there before it was true: %q", got)
	}
	// What is forgotten is found by no condition, its absence neither.
	for id, name := range f.names {
		if name == "one" {
			f.do(f.token, http.MethodDelete, "/v1/episodes/"+id, nil, http.StatusAccepted)
		}
	}
	f.settle()
	for _, filter := range []string{numbered, `{"n":{"$exists":true}}`, `{"n":{"$ne":4}}`} {
		if got := f.asked(filter); slices.Contains(got, "one") || !slices.Contains(got, "two") {
			t.Errorf("after it was forgotten, %s: %v", filter, got)
		}
	}
}

// A refusal is said with its code and path, and leaves nothing behind.
func TestFilterRefusals(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	f.capture(token, "maria", "The red kite was over the hill.")
	f.settle() // its vector is in the log
	before := f.head()
	list := "[" + strings.Repeat("1,", 256) + "1]"
	for filter, want := range map[string]struct {
		status      int
		code, field string
	}{
		`{"a":{"$near":1}}`:                     {400, "unknown_operator", "filter[0][0]"},
		`{"$maria":1}`:                          {400, "unknown_operator", "filter[0]"},
		`{"a":1,"b":{"$gt":"z"}}`:               {400, "bad_type", "filter[1].$gt"},
		`{"a":{"$in":[]}}`:                      {400, "missing", "filter[0].$in"},
		`{"$or":[{"a":1},{"$trust":"friend"}]}`: {400, "unknown_value", "filter.$or[1].$trust"},
		`{"$not":{"$session":{"$gt":"a"}}}`:     {400, "bad_operator", "filter.$not.$session.$gt"},
		`{"$observed_at":{"$lt":"tomorrow"}}`:   {400, "bad_time", "filter.$observed_at.$lt"},
		`{"a":{"$in":` + list + `}}`:            {413, "too_large", "filter[0].$in"},
		strings.Repeat(`{"$not":`, 8) + `{"a":1}` + strings.Repeat("}", 8): {413, "too_large", "filter" + strings.Repeat(".$not", 8)},
	} {
		a := f.do(token, http.MethodPost, "/v1/recall", obj{"query": "kite", "filter": jsontext.Value(filter)}, want.status)
		if code, field := get[string](a, "code"), get[string](a, "field"); code != want.code || field != want.field {
			t.Errorf("%s: %q at %q, want %q at %q", filter, code, field, want.code, want.field)
		}
	}
	for filter, field := range map[string]string{`[1]`: "filter", `{"a":1,"a":2}`: "", `{"a":{"$eq":1,"$eq":2}}`: ""} {
		a := f.call(token, http.MethodPost, "/v1/recall", []byte(`{"query":"kite","filter":`+filter+`}`))
		if a.status != http.StatusBadRequest || field != "" && get[string](a, "field") != field {
			t.Errorf("%s: %d %s", filter, a.status, a.body)
		}
	}
	if after := f.head(); after != before {
		t.Errorf("refusals took the log from %d to %d", before, after)
	}
	f.do(token, http.MethodPost, "/v1/recall", obj{"query": "kite", "filter": obj{"a": obj{"$in": []int{1}}}}, http.StatusOK)
	if f.head() == before {
		t.Error("a recall that is answered leaves nothing behind, so the test shows nothing")
	}
}

// What the document says of filters is what is taken and what is refused.
func TestFilterSchema(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	var d struct {
		Components struct {
			Schemas map[string]jsontext.Value `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(f.do("", http.MethodGet, "/openapi.json", nil, http.StatusOK).body, &d); err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(d.Components.Schemas["Filter"]), "#/components/schemas/Filter", "#")), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for filter, good := range map[string]bool{
		`{"a":1,"b":"x","c":true}`: true,
		`{"a":{"$in":[1,"x"],"$exists":true},"$or":[{"$kind":"fact"},{"$not":{"$trust":{"$gte":"agent"}}}]}`: true,
		`{"$observed_at":{"$lt":"2026-01-01T00:00:00Z"},"$entity":{"$ne":"x"}}`:                              true,
		`{"a":null}`:                    false,
		`{"a":{}}`:                      false,
		`{"a":{"$near":1}}`:             false,
		`{"$x":1}`:                      false,
		`{"$or":[]}`:                    false,
		`{"$kind":"dream"}`:             false,
		`{"$kind":{"$exists":true}}`:    false,
		`{"$session":{"$gt":"a"}}`:      false,
		`{"$and":[{"a":{"$gt":true}}]}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(filter), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != good {
			t.Errorf("%s against the schema: %v", filter, err)
		}
		status := http.StatusBadRequest
		if good {
			status = http.StatusOK
		}
		f.do(token, http.MethodPost, "/v1/recall", obj{"query": "kite", "filter": jsontext.Value(filter)}, status)
	}
}
