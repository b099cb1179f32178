package node_test

import (
	"net/http"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// What the document says of a recall's weights is what is taken and what is refused.
func TestWeightsSchema(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	var d struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Properties map[string]jsontext.Value `json:"properties"`
					} `json:"schema"`
				} `json:"content"`
			}
		} `json:"paths"`
	}
	if err := json.Unmarshal(f.do("", http.MethodGet, "/openapi.json", nil, http.StatusOK).body, &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(d.Paths["/v1/recall"]["post"].RequestBody.Content["application/json"].Schema.Properties["weights"], &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for weights, good := range map[string]bool{
		`"default"`: true,
		`{"relevance":0.5,"freshness":0.25,"reliability":0.25}`: true,
		`{"relevance":1}`:                true,
		`""`:                             false,
		`7`:                              false,
		`["default"]`:                    false,
		`{"relevance":2,"freshness":-1}`: false,
		`{"relevance":1,"recency":0}`:    false,
		`{"Name":"default","Weights":{"relevance":1}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(weights), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != good {
			t.Errorf("%s against the schema: %v", weights, err)
		}
		status := http.StatusBadRequest
		if good {
			status = http.StatusOK
		}
		f.do(token, http.MethodPost, "/v1/recall", obj{"query": "kite", "weights": jsontext.Value(weights)}, status)
	}
}
