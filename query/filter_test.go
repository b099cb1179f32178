package query

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/indextest"
)

// Every refusal of a filter, with the path of what is wrong.
func TestFilterErrors(t *testing.T) {
	t.Parallel()
	const malformed, tooLarge = events.Malformed, events.TooLarge
	deep := func(depth int) string {
		return strings.Repeat(`{"$not":`, depth-1) + `{"a":1}` + strings.Repeat(`}`, depth-1)
	}
	list := func(n int, element string) string { return "[" + strings.Repeat(element+",", n-1) + element + "]" }
	for filter, c := range map[string]struct {
		kind        events.InputKind
		code, field string
	}{
		`{"":1}`:                                             {malformed, "missing", "filter[0]"},
		`{"a":1,"b\u0000":1}`:                                {malformed, "control_character", "filter[1]"},
		`{"a":null}`:                                         {malformed, "bad_type", "filter[0]"},
		`{"a":["canary-7f3a"]}`:                              {malformed, "bad_type", "filter[0]"},
		`{"a":{}}`:                                           {malformed, "missing", "filter[0]"},
		`{"$canary-7f3a":1}`:                                 {malformed, "unknown_operator", "filter[0]"},
		`{"a":{"canary-7f3a":1}}`:                            {malformed, "unknown_operator", "filter[0][0]"},
		`{"a":{"$eq":1,"$regex":"canary-7f3a"}}`:             {malformed, "unknown_operator", "filter[0][1]"},
		`{"a":{"$eq":1,"$not":{"$eq":1}}}`:                   {malformed, "unknown_operator", "filter[0][1]"},
		`{"$subject":"maria"}`:                               {malformed, "unknown_operator", "filter[0]"},
		`{"a":{"$eq":null}}`:                                 {malformed, "bad_type", "filter[0].$eq"},
		`{"a":{"$ne":{"b":1}}}`:                              {malformed, "bad_type", "filter[0].$ne"},
		`{"a":{"$in":"canary-7f3a"}}`:                        {malformed, "bad_type", "filter[0].$in"},
		`{"a":{"$in":[]}}`:                                   {malformed, "missing", "filter[0].$in"},
		`{"a":{"$nin":[1,[2]]}}`:                             {malformed, "bad_type", "filter[0].$nin[1]"},
		`{"a":{"$gt":"canary-7f3a"}}`:                        {malformed, "bad_type", "filter[0].$gt"},
		`{"a":{"$lte":"2026-01-01"}}`:                        {malformed, "bad_type", "filter[0].$lte"},
		`{"a":{"$lt":true}}`:                                 {malformed, "bad_type", "filter[0].$lt"},
		`{"a":{"$exists":1}}`:                                {malformed, "bad_type", "filter[0].$exists"},
		`{"$and":{}}`:                                        {malformed, "bad_type", "filter.$and"},
		`{"$or":[]}`:                                         {malformed, "missing", "filter.$or"},
		`{"$or":[{"a":1},{}]}`:                               {malformed, "missing", "filter.$or[1]"},
		`{"$and":[{"$or":[{"a":1},{"a":{"$x":1}}]}]}`:        {malformed, "unknown_operator", "filter.$and[0].$or[1][0][0]"},
		`{"$not":[{"a":1}]}`:                                 {malformed, "bad_type", "filter.$not"},
		`{"$not":{"$kind":"dream"}}`:                         {malformed, "unknown_value", "filter.$not.$kind"},
		`{"$kind":{"$in":["fact","canary-7f3a"]}}`:           {malformed, "unknown_value", "filter.$kind.$in[1]"},
		`{"$kind":{"$gt":"fact"}}`:                           {malformed, "bad_operator", "filter.$kind.$gt"},
		`{"$kind":{"$exists":true}}`:                         {malformed, "bad_operator", "filter.$kind.$exists"},
		`{"$trust":"canary-7f3a"}`:                           {malformed, "unknown_value", "filter.$trust"},
		`{"$trust":{"$gte":3}}`:                              {malformed, "unknown_value", "filter.$trust.$gte"},
		`{"$trust":{"$exists":false}}`:                       {malformed, "bad_operator", "filter.$trust.$exists"},
		`{"$occurred_at":{"$gte":1}}`:                        {malformed, "bad_time", "filter.$occurred_at.$gte"},
		`{"$observed_at":"2026-01-01T00:00:00"}`:             {malformed, "bad_time", "filter.$observed_at"},
		`{"$occurred_at":{"$exists":true}}`:                  {malformed, "bad_operator", "filter.$occurred_at.$exists"},
		`{"$session":7}`:                                     {malformed, "bad_type", "filter.$session"},
		`{"$session":""}`:                                    {malformed, "missing", "filter.$session"},
		`{"$category":{"$in":["a","b\n"]}}`:                  {malformed, "control_character", "filter.$category.$in[1]"},
		`{"$entity":{"$lt":"canary-7f3a"}}`:                  {malformed, "bad_operator", "filter.$entity.$lt"},
		`{"$scope":{"$exists":"yes"}}`:                       {malformed, "bad_type", "filter.$scope.$exists"},
		`{"a":{"$in":` + list(257, "1") + `}}`:               {tooLarge, "too_large", "filter[0].$in"},
		`{"$or":` + list(257, `{"a":1}`) + `}`:               {tooLarge, "too_large", "filter.$or"},
		`{"$or":` + list(256, `{"a":1}`) + `,"b":{"$gt":0}}`: {tooLarge, "too_large", "filter[1]"},
		deep(9): {tooLarge, "too_large", "filter" + strings.Repeat(".$not", 8)},
		`{"$or":` + list(16, `{"a":{"$in":`+list(256, "1")+`}}`) + `,"b":1}`: {tooLarge, "too_large", "filter[1]"},
		`{"$entity":"` + strings.Repeat("x", maxName+1) + `"}`:               {tooLarge, "too_large", "filter.$entity"},
		`{"a":{"$eq":"` + strings.Repeat("x", maxScalar) + `"}}`:             {tooLarge, "too_large", "filter[0].$eq"},
		`{"a":{"$gt":` + strings.Repeat("7", maxScalar+1) + `}}`:             {tooLarge, "too_large", "filter[0].$gt"},
	} {
		_, err := decoded(t, filter).parse()
		if err == nil {
			t.Errorf("%.80s was taken", filter)
			continue
		}
		t.Run(c.field+" "+c.code, func(t *testing.T) { t.Parallel(); checkInput(t, err, c.kind, c.code, c.field) })
	}
	// The positive control: what is just within the bounds.
	for _, filter := range []string{
		`{}`, deep(8), `{"a":{"$in":` + list(256, "1") + `}}`, `{"$or":` + list(256, `{"a":1}`) + `}`,
		`{"$or":` + list(16, `{"a":{"$nin":`+list(256, `"2026-01-01T00:00:00Z"`)+`}}`) + `}`,
		`{"$or":` + list(256, `{"$and":[{"$or":[{"$and":[{"$or":[{"$not":{"$kind":"fact"}}]}]}]}]}`) + `}`,
		`{"$or":` + list(16, `{"$observed_at":{"$in":`+list(256, `"2026-01-01T00:00:00Z"`)+`}}`) + `}`,
		`{"a":{"$eq":1,"$ne":"b","$in":[1,"b",true],"$nin":[2],"$gt":-1e999,"$gte":0,"$lt":"2026-01-01T00:00:00Z","$exists":false}}`,
		`{"$trust":{"$in":["agent","user"],"$gt":"external","$lte":"system"},"$kind":{"$ne":"fact"},"$scope":{"$exists":false}}`,
	} {
		made, err := decoded(t, filter).parse()
		if err != nil {
			t.Errorf("%.80s: %v", filter, err)
			continue
		}
		f := index.Filter{Tenant: "a"}
		if made != nil {
			f.Where = made(open{})
		}
		if err := f.Validate(); err != nil {
			t.Errorf("%.80s: the index refuses it: %v", filter, err)
		}
	}
	if _, err := (Filter{"a": jsontext.Value(`"canary-7f3a`)}).parse(); err == nil {
		t.Error("what is no JSON was taken")
	}
}

func decoded(t *testing.T, s string) Filter {
	t.Helper()
	var f Filter
	if err := json.Unmarshal([]byte(s), &f); err != nil {
		t.Fatalf("%.80s: %v", s, err)
	}
	return f
}

// open is a hasher whose key everybody knows.
type open struct{}

func (open) Hash(field, value string) string {
	sum := sha256.Sum256([]byte(field + "\x00" + value))
	return hex.EncodeToString(sum[:13])
}

// drawn is a memory and what it was made of.
type drawn struct {
	doc      index.Doc
	metadata map[string]jsontext.Value
	fields   map[string][]string // names by field
	trust    events.Trust
	kind     string
	occurred time.Time
}

func someNames() []string { return []string{"x", "y", "z"} }

func metadataValues() []string {
	return []string{
		`1`, `1.0`, `-3`, `2.5`, `9007199254740993`, `9007199254740992`, `"1"`, `"x"`, `"y"`, `true`, `false`,
		`"2026-01-01T00:00:00Z"`, `"2026-01-01T01:00:00+01:00"`, `"2026-03-01T00:00:00.000001Z"`,
	}
}

func moments() []string {
	return []string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-02T00:00:00.000001Z", "2026-02-01T05:00:00+05:00"}
}

func drawMemory(t *rapid.T) drawn {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(someNames()), 0, 2, rapid.ID)
	d := drawn{
		metadata: rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.Map(
			rapid.SampledFrom(append(metadataValues(), `null`, `[1]`, `{"a":1}`)), func(s string) jsontext.Value { return jsontext.Value(s) },
		), 0, 2).Draw(t, "metadata"),
		fields: map[string][]string{"$category": {"x"}, "$entity": names.Draw(t, "entities")},
		trust:  events.Trust(rapid.IntRange(1, 6).Draw(t, "trust")),
		kind:   rapid.SampledFrom([]string{"episode", "fact", "trajectory"}).Draw(t, "kind"),
	}
	one := rapid.SliceOfN(rapid.SampledFrom(someNames()), 0, 1)
	d.fields["$session"], d.fields["$scope"] = one.Draw(t, "session"), one.Draw(t, "scope")
	d.occurred = moment(t, rapid.SampledFrom(moments()).Draw(t, "occurred"))
	kinds, err := parseKinds([]string{d.kind})
	if err != nil {
		t.Fatalf("parse kind: %v", err)
	}
	first := func(list []string) string { return strings.Join(list, "") }
	d.doc = index.Doc{
		Kind: kinds[0], Trust: uint8(d.trust), OccurredUS: d.occurred.UnixMicro(), ObservedUS: d.occurred.UnixMicro(),
		Session: token.Session(open{}, first(d.fields["$session"])), Category: token.Category(open{}, "x"),
		Scope:    token.Scope(open{}, first(d.fields["$scope"])),
		Entities: token.Each(open{}, token.Entity, d.fields["$entity"]...),
	}
	for key, value := range d.metadata {
		label, err := token.Label(open{}, key, value)
		if err != nil {
			t.Fatalf("label: %v", err)
		}
		d.doc.Labels = append(append(d.doc.Labels, label, token.LabelKey(open{}, key)), token.LabelSteps(open{}, key, value)...)
	}
	return d
}

func moment(t interface {
	Fatalf(format string, args ...any)
}, s string,
) time.Time {
	var at events.Time
	if err := at.UnmarshalText([]byte(s)); err != nil {
		t.Fatalf("parse time: %v", err)
	}
	return at.Time
}

// drawFilter draws a filter as JSON would have it.
func drawFilter(t *rapid.T, depth int) map[string]any {
	f := map[string]any{}
	names := []string{"a", "b", "c", "$kind", "$session", "$category", "$scope", "$entity", "$trust", "$occurred_at", "$observed_at"}
	if depth > 1 {
		names = append(names, "$and", "$or", "$not", "$and", "$or", "$not")
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 2, rapid.ID).Draw(t, "members") {
		switch name {
		case "$and", "$or":
			list := make([]any, rapid.IntRange(1, 3).Draw(t, "parts"))
			for i := range list {
				list[i] = drawFilter(t, depth-1)
			}
			f[name] = list
		case "$not":
			f[name] = drawFilter(t, depth-1)
		default:
			f[name] = drawCondition(t, name)
		}
	}
	return f
}

// drawCondition draws a value or some operators. Values are what a memory may have.
func drawCondition(t *rapid.T, name string) any {
	quoted := func(list ...string) []string {
		for i := range list {
			list[i] = strconv.Quote(list[i])
		}
		return list
	}
	values, ends := metadataValues(), []string{`1`, `-3`, `2.4`, `9007199254740992`, `"2026-01-01T00:00:00Z"`, `"2026-03-01T00:00:00Z"`}
	exists := true
	switch name {
	case "$kind":
		values, ends, exists = quoted("episode", "fact", "trajectory"), nil, false
	case "$trust":
		values, exists = quoted("external", "tool", "agent", "user", "human_verified", "system"), false
		ends = values
	case "$occurred_at", "$observed_at":
		values, exists = quoted(moments()...), false
		ends = values
	case "$session", "$category", "$scope", "$entity":
		values, ends = quoted("x", "y", "nobody"), nil
	}
	value := rapid.Map(rapid.SampledFrom(values), func(s string) any { return jsontext.Value(s) })
	if rapid.Bool().Draw(t, "plain") {
		return value.Draw(t, "value")
	}
	ops := []string{"$eq", "$ne", "$in", "$nin"}
	if len(ends) > 0 {
		ops = append(ops, "$gt", "$gte", "$lt", "$lte")
	}
	if exists {
		ops = append(ops, "$exists")
	}
	c := map[string]any{}
	for _, op := range rapid.SliceOfNDistinct(rapid.SampledFrom(ops), 1, 2, rapid.ID).Draw(t, "operators") {
		switch op {
		case "$eq", "$ne":
			c[op] = value.Draw(t, "value")
		case "$in", "$nin":
			c[op] = rapid.SliceOfN(value, 1, 3).Draw(t, "values")
		case "$exists":
			c[op] = rapid.Bool().Draw(t, "exists")
		default:
			c[op] = jsontext.Value(rapid.SampledFrom(ends).Draw(t, "end"))
		}
	}
	return c
}

// as is a part of a condition that was drawn as a T.
func as[T any](t *rapid.T, v any) T {
	out, ok := v.(T)
	if !ok {
		t.Fatalf("a part of a condition is a %T", v)
	}
	return out
}

// passes is the brute force answer, on what the memory was made of.
func (d *drawn) passes(t *rapid.T, f map[string]any) bool {
	for name, c := range f {
		ok := true
		switch name {
		case "$and":
			ok = !slices.ContainsFunc(as[[]any](t, c), func(part any) bool { return !d.passes(t, as[map[string]any](t, part)) })
		case "$or":
			ok = slices.ContainsFunc(as[[]any](t, c), func(part any) bool { return d.passes(t, as[map[string]any](t, part)) })
		case "$not":
			ok = !d.passes(t, as[map[string]any](t, c))
		default:
			ops, is := c.(map[string]any)
			if !is {
				ops = map[string]any{"$eq": c}
			}
			for op, v := range ops {
				ok = ok && d.meets(t, name, op, v)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

func (d *drawn) meets(t *rapid.T, name, op string, v any) bool {
	switch op {
	case "$exists":
		_, there := d.metadata[name]
		return (there || len(d.fields[name]) > 0) == as[bool](t, v)
	case "$ne":
		return !d.meets(t, name, "$eq", v)
	case "$nin":
		return !d.meets(t, name, "$in", v)
	case "$in":
		return slices.ContainsFunc(as[[]any](t, v), func(v any) bool { return d.meets(t, name, "$eq", v) })
	}
	value := as[jsontext.Value](t, v)
	var s string
	if value.Kind() == '"' {
		if err := json.Unmarshal(value, &s); err != nil {
			t.Fatalf("unquote: %v", err)
		}
	}
	switch name {
	case "$kind":
		return d.kind == s
	case "$trust":
		trust, err := events.ParseTrust(s)
		if err != nil {
			t.Fatalf("trust: %v", err)
		}
		return compared(op, int(d.trust)-int(trust))
	case "$occurred_at", "$observed_at":
		return compared(op, d.occurred.Compare(moment(t, s)))
	case "$session", "$category", "$scope", "$entity":
		return slices.Contains(d.fields[name], s)
	}
	have, there := d.metadata[name]
	if !there || have.Kind() != value.Kind() && op != "$eq" {
		return false
	}
	if have.Kind() == '0' && value.Kind() == '0' {
		a, _ := new(big.Rat).SetString(string(have))
		b, _ := new(big.Rat).SetString(string(value))
		return compared(op, a.Cmp(b))
	}
	if op == "$eq" {
		return string(have) == string(value)
	}
	var at events.Time
	if have.Kind() != '"' || json.Unmarshal(have, &at) != nil {
		return false
	}
	return compared(op, at.Compare(moment(t, s)))
}

func compared(op string, c int) bool {
	return op == "$eq" && c == 0 || op == "$gt" && c > 0 || op == "$gte" && c >= 0 || op == "$lt" && c < 0 || op == "$lte" && c <= 0
}

// TestFiltersAgainstBruteForce asks random filters about random memories, and
// what was made of both as the index has it.
func TestFiltersAgainstBruteForce(t *testing.T) {
	t.Parallel()
	counts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		want := drawFilter(t, 4)
		b, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("encode filter: %v", err)
		}
		var f Filter
		if err := json.Unmarshal(b, &f); err != nil {
			t.Fatalf("decode filter: %v", err)
		}
		parsed, err := f.parse()
		if err != nil {
			t.Fatalf("parse %s: %v", b, err)
		}
		where := parsed(open{})
		for i := range 8 {
			d := rapid.Custom(drawMemory).Draw(t, fmt.Sprint("memory ", i))
			passes := d.passes(t, want)
			counts[passes]++
			if got := indextest.Holds(&d.doc, where); got != passes {
				t.Fatalf("%s on %v, %v, %v: %v, want %v", b, d.metadata, d.fields, d.kind, got, passes)
			}
		}
	})
	if counts[true] == 0 || counts[false] == 0 {
		t.Errorf("of the answers, by what they are, there are %v", maps.All(counts))
	}
}
