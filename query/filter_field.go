package query

import (
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors/index"
)

// filterField is what a condition is about: a key of metadata or a field that
// every filter knows. The values and ends that it is given are not empty.
type filterField interface {
	// anyOf is that the field is one of the values.
	anyOf(values []jsontext.Value, paths []string) (condition, error)
	// within is that the field is within all of the ends.
	within(ends []rangeEnd) (condition, error)
	// exists is that the field is there.
	exists(path string) (condition, error)
}

// rangeEnd is the value of $gt, $gte, $lt or $lte.
type rangeEnd struct {
	value           jsontext.Value
	path            string
	lower, included bool
}

// filterFields finds a field by its name; nil is none.
func filterFields(name string) filterField {
	switch name {
	case "$session":
		return nameField{index.FieldSession, token.Session}
	case "$category":
		return nameField{index.FieldCategory, token.Category}
	case "$scope":
		return nameField{index.FieldScope, token.Scope}
	case "$entity":
		return nameField{index.FieldEntities, token.Entity}
	case "$kind":
		return kindField()
	case "$trust":
		return trustField()
	case "$occurred_at":
		return timeField(index.NumberOccurredUS)
	case "$observed_at":
		return timeField(index.NumberObservedUS)
	}
	return nil
}

// metadata is one key of metadata.
type metadata struct{ key string }

func (f metadata) anyOf(values []jsontext.Value, paths []string) (condition, error) {
	for i, v := range values {
		if !isScalar(v) {
			return nil, malformed(paths[i], "bad_type", "must be a string, a number or a boolean; $exists asks whether there is a value")
		}
		if _, err := token.Canonical(v); err != nil {
			return nil, malformed(paths[i], "bad_type", "must be JSON")
		}
	}
	return func(h token.Hasher) index.Where {
		tokens := make([]string, 0, len(values))
		for _, v := range values {
			if label, err := token.Label(h, f.key, v); err == nil { // as was seen above
				tokens = append(tokens, label)
			}
		}
		return index.AnyOf{Field: index.FieldLabels, Tokens: tokens}
	}, nil
}

func (f metadata) within(ends []rangeEnd) (condition, error) {
	bounds := make([]token.Bound, len(ends))
	for i, e := range ends {
		if len(e.value) > maxScalar {
			return nil, tooLarge(e.path, "a value must have at most "+strconv.Itoa(maxScalar)+" bytes")
		}
		p, ok := token.PointOf(e.value)
		if !ok {
			return nil, malformed(e.path, "bad_type",
				"must be a number or an RFC 3339 time with an offset: other strings are kept as keyed hashes, which have no order")
		}
		bounds[i] = token.Bound{Point: p, Lower: e.lower, Included: e.included}
	}
	return func(h token.Hasher) index.Where {
		return index.AnyOf{Field: index.FieldLabels, Tokens: token.LabelRange(h, f.key, bounds...)}
	}, nil
}

func (f metadata) exists(string) (condition, error) {
	return func(h token.Hasher) index.Where {
		return index.AnyOf{Field: index.FieldLabels, Tokens: []string{token.LabelKey(h, f.key)}}
	}, nil
}

// nameField is a field that is known by the tokens of names.
type nameField struct {
	field index.Field
	token func(h token.Hasher, name string) string
}

func (f nameField) anyOf(values []jsontext.Value, paths []string) (condition, error) {
	names := make([]string, len(values))
	for i, v := range values {
		if v.Kind() != '"' || json.Unmarshal(v, &names[i]) != nil {
			return nil, malformed(paths[i], "bad_type", "must be a string")
		}
		if err := checkName(paths[i], names[i], true); err != nil {
			return nil, err
		}
	}
	return func(h token.Hasher) index.Where {
		return index.AnyOf{Field: f.field, Tokens: token.Each(h, f.token, names...)}
	}, nil
}

func (f nameField) within(ends []rangeEnd) (condition, error) {
	return nil, malformed(ends[0].path, "bad_operator", "names are kept as keyed hashes, which have no order: only $eq, $ne, $in, $nin and $exists")
}

func (f nameField) exists(string) (condition, error) {
	return constant(index.Present{Field: f.field}), nil
}

// numberField is a field that is known by a number.
type numberField struct {
	number index.Number
	// read turns a value into the number; ok is false for one that it does not know.
	read func(v jsontext.Value) (n int64, ok bool)
	code string // of the refusal of a value
	rule string
	// unordered says that there are no ranges.
	unordered bool
}

func kindField() numberField {
	return numberField{
		number: index.NumberKind, code: "unknown_value", rule: `must be "episode", "fact" or "trajectory"`, unordered: true,
		read: func(v jsontext.Value) (int64, bool) {
			name, ok := text(v)
			kinds, err := parseKinds([]string{name})
			if !ok || err != nil {
				return 0, false
			}
			return int64(kinds[0]), true
		},
	}
}

func trustField() numberField {
	return numberField{
		number: index.NumberTrust, code: "unknown_value",
		rule: `must be "external", "tool", "agent", "user", "human_verified" or "system", which are in this order`,
		read: func(v jsontext.Value) (int64, bool) {
			name, ok := text(v)
			trust, err := events.ParseTrust(name)
			return int64(trust), ok && err == nil
		},
	}
}

func timeField(n index.Number) numberField {
	return numberField{
		number: n, code: "bad_time", rule: "must be an RFC 3339 time with an offset",
		read: func(v jsontext.Value) (int64, bool) {
			var t events.Time
			if v.Kind() != '"' || json.Unmarshal(v, &t) != nil {
				return 0, false
			}
			return t.UnixMicro(), true
		},
	}
}

func text(v jsontext.Value) (s string, ok bool) {
	ok = v.Kind() == '"' && json.Unmarshal(v, &s) == nil
	return s, ok
}

func (f numberField) value(v jsontext.Value, path string) (int64, error) {
	n, ok := f.read(v)
	if !ok {
		return 0, malformed(path, f.code, f.rule)
	}
	return n, nil
}

func (f numberField) anyOf(values []jsontext.Value, paths []string) (condition, error) {
	numbers := make([]int64, len(values))
	for i, v := range values {
		n, err := f.value(v, paths[i])
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}
	slices.Sort(numbers)
	var list []condition
	for _, n := range slices.Compact(numbers) {
		list = append(list, constant(index.Within{Number: f.number, From: n, To: n}))
	}
	return either(list), nil
}

func (f numberField) within(ends []rangeEnd) (condition, error) {
	w := index.Within{Number: f.number, From: math.MinInt64, To: math.MaxInt64}
	for _, e := range ends {
		if f.unordered {
			return nil, malformed(e.path, "bad_operator", "it has no order: only $eq, $ne, $in and $nin")
		}
		n, err := f.value(e.value, e.path)
		if err != nil {
			return nil, err
		}
		switch { // no value is near the ends of an int64
		case e.lower && e.included:
			w.From = max(w.From, n)
		case e.lower:
			w.From = max(w.From, n+1)
		case e.included:
			w.To = min(w.To, n)
		default:
			w.To = min(w.To, n-1)
		}
	}
	return constant(w), nil
}

func (f numberField) exists(path string) (condition, error) {
	return nil, malformed(path, "bad_operator", "every memory has it")
}
