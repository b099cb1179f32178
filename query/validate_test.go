package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// canary stands in what a request holds; no error may repeat it.
const canary = "canary-7f3a"

type inputCase struct {
	req   interface{ validate() error }
	kind  events.InputKind
	code  string
	field string
}

func inputCases() map[string]inputCase {
	at := func(day int) *events.Time {
		t := events.At(time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC))
		return &t
	}
	ask := func(change func(*RecallRequest)) *RecallRequest {
		r := &RecallRequest{Query: "where " + canary}
		change(r)
		return r
	}
	filter := func(key, value string) *RecallRequest {
		return ask(func(r *RecallRequest) { r.Filter = map[string]jsontext.Value{key: jsontext.Value(value)} })
	}
	many := make([]string, maxValues+1)
	tooMany := make(map[string]jsontext.Value)
	for i := range many {
		many[i] = fmt.Sprint(canary, i)
	}
	for i := range MaxFilterConditions + 1 {
		tooMany[fmt.Sprint(canary, i)] = jsontext.Value("1")
	}
	const malformed, tooLarge = events.Malformed, events.TooLarge
	return map[string]inputCase{
		"no query":             {ask(func(r *RecallRequest) { r.Query = "" }), malformed, "missing", "query"},
		"blank query":          {ask(func(r *RecallRequest) { r.Query = " \n" }), malformed, "missing", "query"},
		"NUL in query":         {ask(func(r *RecallRequest) { r.Query = canary + "\x00" }), malformed, "nul", "query"},
		"bytes in query":       {ask(func(r *RecallRequest) { r.Query = canary + "\xff" }), malformed, "invalid_encoding", "query"},
		"long query":           {ask(func(r *RecallRequest) { r.Query = strings.Repeat("a", maxQuery+1) }), tooLarge, "too_large", "query"},
		"long subject":         {ask(func(r *RecallRequest) { r.Subject = strings.Repeat("é", maxName+1) }), tooLarge, "too_large", "subject"},
		"control in subject":   {ask(func(r *RecallRequest) { r.Subject = canary + "\n" }), malformed, "control_character", "subject"},
		"bytes in session":     {ask(func(r *RecallRequest) { r.Session = canary + "\xc0" }), malformed, "invalid_encoding", "session"},
		"unknown kind":         {ask(func(r *RecallRequest) { r.Kinds = []string{"fact", canary} }), malformed, "unknown_value", "kinds[1]"},
		"empty category":       {ask(func(r *RecallRequest) { r.Categories = []string{""} }), malformed, "missing", "categories[0]"},
		"many scopes":          {ask(func(r *RecallRequest) { r.Scopes = many }), tooLarge, "too_large", "scopes"},
		"empty entity":         {ask(func(r *RecallRequest) { r.Entities = []string{"a", ""} }), malformed, "missing", "entities[1]"},
		"empty period":         {ask(func(r *RecallRequest) { r.Occurred = &Period{} }), malformed, "missing", "occurred"},
		"period backwards":     {ask(func(r *RecallRequest) { r.Occurred = &Period{From: at(2), To: at(1)} }), malformed, "not_after_from", "occurred.to"},
		"empty period of none": {ask(func(r *RecallRequest) { r.Occurred = &Period{From: at(1), To: at(1)} }), malformed, "not_after_from", "occurred.to"},
		"filter operator":      {filter("a", `{"gt": "`+canary+`"}`), malformed, "unknown_operator", "filter[0][0]"},
		"filter empty key":     {filter("", `1`), malformed, "missing", "filter[0]"},
		"filter empty value":   {filter("a", ``), malformed, "bad_type", "filter[0]"},
		"filter long value":    {filter("a", `"`+strings.Repeat("a", maxScalar)+`"`), tooLarge, "too_large", "filter[0]"},
		"filter many keys":     {ask(func(r *RecallRequest) { r.Filter = tooMany }), tooLarge, "too_large", "filter[256]"},
		"k of zero":            {ask(func(r *RecallRequest) { r.K = new(0) }), malformed, "out_of_range", "k"},
		"k of 101":             {ask(func(r *RecallRequest) { r.K = new(MaxK + 1) }), malformed, "out_of_range", "k"},
		"budget of zero":       {ask(func(r *RecallRequest) { r.TokenBudget = new(0) }), malformed, "out_of_range", "token_budget"},
		"negative budget":      {ask(func(r *RecallRequest) { r.TokenBudget = new(-1) }), malformed, "out_of_range", "token_budget"},
		"unknown consistency":  {ask(func(r *RecallRequest) { r.Consistency = canary }), malformed, "unknown_value", "consistency"},
		"facts of nobody":      {&FactsRequest{}, malformed, "missing", "subject"},
		"facts, control":       {&FactsRequest{Subject: "a", Predicate: canary + "\x00"}, malformed, "control_character", "predicate"},
		"facts, include":       {&FactsRequest{Subject: "a", Include: canary}, malformed, "unknown_value", "include"},
		"history as of":        {&FactsRequest{Subject: "a", Include: IncludeHistory, AsOf: at(1)}, malformed, "contradiction", "include"},
		"facts, limit":         {&FactsRequest{Subject: "a", Limit: new(0)}, malformed, "out_of_range", "limit"},
		"facts, large limit":   {&FactsRequest{Subject: "a", Limit: new(MaxLimit + 1)}, malformed, "out_of_range", "limit"},
		"episodes of nobody":   {&EpisodesRequest{}, malformed, "missing", "subject"},
		"episodes, session":    {&EpisodesRequest{Subject: "a", Session: canary + "\x7f"}, malformed, "control_character", "session"},
		"episodes backwards":   {&EpisodesRequest{Subject: "a", From: at(2), To: at(1)}, malformed, "not_after_from", "to"},
		"episodes, limit":      {&EpisodesRequest{Subject: "a", Limit: new(-1)}, malformed, "out_of_range", "limit"},
	}
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	for name, tc := range inputCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkInput(t, tc.req.validate(), tc.kind, tc.code, tc.field)
		})
	}
}

func checkInput(t *testing.T, err error, kind events.InputKind, code, field string) {
	t.Helper()
	in, ok := errors.AsType[*events.InputError](err)
	if !ok {
		t.Fatalf("error is %v, want an InputError", err)
	}
	if in.Kind != kind || in.Code != code || in.Field != field {
		t.Errorf("error is (%d, %q, %q), want (%d, %q, %q)", in.Kind, in.Code, in.Field, kind, code, field)
	}
	if strings.Contains(err.Error(), canary) {
		t.Error("the error repeats the input")
	}
}

// The positive control: requests with every field in order pass.
func TestValidRequests(t *testing.T) {
	t.Parallel()
	for name, req := range map[string]interface{ validate() error }{
		"least": &RecallRequest{Query: "a"},
		"most": &RecallRequest{
			Query: "wo 日本 🦊\n", Subject: "Zoë", Session: "a/b", Kinds: []string{"fact", "episode", "trajectory"},
			Categories: []string{"general"}, Scopes: []string{"work"}, Entities: []string{"C:\\x"},
			Filter: map[string]jsontext.Value{"a": jsontext.Value(`"x"`), "b": jsontext.Value(`1e3`), "c": jsontext.Value(`true`)},
			K:      new(MaxK), TokenBudget: new(1), Consistency: Strong,
		},
		"facts":    &FactsRequest{Subject: "a", Include: IncludeCurrent, Limit: new(MaxLimit)},
		"episodes": &EpisodesRequest{Subject: "a", Limit: new(1)},
	} {
		if err := req.validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestFromJSON(t *testing.T) {
	t.Parallel()
	var r RecallRequest
	in := `{"query":"q","weights":{"relevance":0.5,"freshness":0.3,"reliability":0.2},"as_of":"2026-01-01T08:00:00+08:00"}`
	if err := json.Unmarshal([]byte(in), &r, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if r.Weights.Weights != (Weights{0.5, 0.3, 0.2}) || !r.AsOf.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %+v at %v", r.Weights, r.AsOf)
	}
	for _, bad := range []string{
		`{"query":"q","as_of":"2026-01-01T08:00:00"}`, `{"query":"q","tenant":"b"}`,
		`{"query":"q","weights":7}`, `{"query":"q","weights":""}`, `{"query":"q","weights":{"relevance":1,"canary-7f3a":0}}`,
	} {
		if err := json.Unmarshal([]byte(bad), new(RecallRequest), json.RejectUnknownMembers(true)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	for _, c := range []WeightsChoice{{Name: "default"}, {Weights: Weights{0.5, 0.3, 0.2}}} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var back WeightsChoice
		if err := json.Unmarshal(b, &back); err != nil || back != c {
			t.Errorf("%s read back as %+v: %v", b, back, err)
		}
	}
}
