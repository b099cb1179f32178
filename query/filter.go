package query

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/projectors/index"
)

// Limits of a filter.
const (
	// MaxFilterDepth is how deep filters may be in filters, MaxFilterConditions
	// how many conditions one may have in all, and MaxFilterValues how many values
	// one list may have.
	MaxFilterDepth      = 8
	MaxFilterConditions = 256
	MaxFilterValues     = 256

	// maxAllValues bounds the values of all lists together.
	maxAllValues = 4096
)

// Filter is a condition on memories. All of its members must hold:
//
//   - A key of metadata with a string, a number or a boolean that the value must
//     equal, or with an object of operators that all must hold: $eq, $ne, $in,
//     $nin with such values; $gt, $gte, $lt, $lte with a number or an RFC 3339
//     time; $exists with a boolean. A key cannot begin with $.
//   - $kind, $session, $category, $scope, $entity, $trust, $occurred_at and
//     $observed_at with the same, as far as it makes sense of them.
//   - $and and $or with a list of filters, $not with a filter.
//
// What a memory does not have equals nothing and is in no list and no range, so
// that $ne, $nin and $not hold for it. Facts have no metadata, session or
// entities and episodes no scope. A memory has an entity if it is one of its
// entities. When something occurred and was observed are one time here: when an
// episode happened, and when a fact was observed.
//
// Equality of metadata is that of JSON: 1 and 1.0 are equal, "1" and 1 are not,
// and two spellings of one time are two strings. A range of numbers holds for
// numbers alone, and one of times for strings that are RFC 3339 times, to the
// microsecond. There are no ranges of strings: they are kept as keyed hashes,
// which have no order.
type Filter map[string]jsontext.Value

// condition makes a condition that was checked into one on tokens.
type condition func(h token.Hasher) index.Where

// parse checks a filter; nil is no condition.
//
// A key is the caller's text and cannot be in an error. Its path has the place of
// the member instead, counted from zero in the order of the keys.
func (f Filter) parse() (condition, error) {
	if len(f) == 0 {
		return nil, nil //nolint:nilnil // It is what it says.
	}
	p := filterParser{conditions: MaxFilterConditions, values: maxAllValues}
	return p.members(f, "filter", 1)
}

// filterParser counts down what a filter may still have.
type filterParser struct{ conditions, values int }

func constant(w index.Where) condition { return func(token.Hasher) index.Where { return w } }

// both joins conditions that all must hold.
func both(list []condition) condition {
	if len(list) == 1 {
		return list[0]
	}
	return func(h token.Hasher) index.Where { return index.And(made(h, list)) }
}

// either joins conditions of which one must hold.
func either(list []condition) condition {
	if len(list) == 1 {
		return list[0]
	}
	return func(h token.Hasher) index.Where { return index.Or(made(h, list)) }
}

func not(c condition) condition {
	return func(h token.Hasher) index.Where { return index.Not{Of: c(h)} }
}

func made(h token.Hasher, list []condition) []index.Where {
	out := make([]index.Where, len(list))
	for i, c := range list {
		out[i] = c(h)
	}
	return out
}

// filter reads a filter within another.
func (p *filterParser) filter(v jsontext.Value, path string, depth int) (condition, error) {
	if depth > MaxFilterDepth {
		return nil, tooLarge(path, "filters must be at most "+strconv.Itoa(MaxFilterDepth)+" deep")
	}
	m, err := object(v, path, "must be a filter")
	if err != nil {
		return nil, err
	}
	if len(m) == 0 {
		return nil, malformed(path, "missing", "must have a condition")
	}
	return p.members(m, path, depth)
}

// object reads the members of an object.
func object(v jsontext.Value, path, rule string) (map[string]jsontext.Value, error) {
	var m map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &m) != nil {
		return nil, malformed(path, "bad_type", rule)
	}
	return m, nil
}

func (p *filterParser) members(m map[string]jsontext.Value, path string, depth int) (condition, error) {
	var list []condition
	for i, key := range slices.Sorted(maps.Keys(m)) {
		c, err := p.member(key, m[key], path, i, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return both(list), nil
}

func (p *filterParser) member(key string, v jsontext.Value, path string, place, depth int) (condition, error) {
	if !strings.HasPrefix(key, "$") {
		path += "[" + strconv.Itoa(place) + "]"
		if err := checkName(path, key, true); err != nil {
			return nil, err
		}
		return p.operators(metadata{key: key}, v, path)
	}
	switch key {
	case "$and", "$or":
		list, err := p.filters(v, path+"."+key, depth+1)
		if err != nil {
			return nil, err
		}
		if key == "$or" {
			return either(list), nil
		}
		return both(list), nil
	case "$not":
		c, err := p.filter(v, path+".$not", depth+1)
		if err != nil {
			return nil, err
		}
		return not(c), nil
	}
	if f := filterFields(key); f != nil {
		return p.operators(f, v, path+"."+key)
	}
	return nil, malformed(path+"["+strconv.Itoa(place)+"]", "unknown_operator",
		"a name that begins with $ must be $and, $or, $not, $kind, $session, $category, $scope, $entity, $trust, $occurred_at or $observed_at")
}

// filters reads the list of $and and $or.
func (p *filterParser) filters(v jsontext.Value, path string, depth int) ([]condition, error) {
	values, err := array(v, path, "must be a list of filters", MaxFilterConditions)
	if err != nil {
		return nil, err
	}
	list := make([]condition, len(values))
	for i := range values {
		if list[i], err = p.filter(values[i], path+"["+strconv.Itoa(i)+"]", depth); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// array reads the elements of an array, of which there must be some.
func array(v jsontext.Value, path, rule string, most int) ([]jsontext.Value, error) {
	var values []jsontext.Value
	switch {
	case v.Kind() != '[' || json.Unmarshal(v, &values) != nil:
		return nil, malformed(path, "bad_type", rule)
	case len(values) == 0:
		return nil, malformed(path, "missing", "must not be empty")
	case len(values) > most:
		return nil, tooLarge(path, "must have at most "+strconv.Itoa(most)+" values")
	}
	return values, nil
}

// operators reads what is said of one field: a value that it must equal, or an
// object of operators.
func (p *filterParser) operators(f filterField, v jsontext.Value, path string) (condition, error) {
	if isScalar(v) {
		return p.operator(f, "$eq", v, path)
	}
	m, err := object(v, path, "must be a string, a number, a boolean or an object of operators")
	if err != nil {
		return nil, err
	}
	if len(m) == 0 {
		return nil, malformed(path, "missing", "must have an operator")
	}
	var list []condition
	var ends []rangeEnd
	for i, op := range slices.Sorted(maps.Keys(m)) {
		at := path + "." + op
		switch op {
		case "$gt", "$gte", "$lt", "$lte":
			ends = append(ends, rangeEnd{
				value: m[op], path: at, lower: op[1] == 'g', included: strings.HasSuffix(op, "e"),
			})
			if err := p.count(path); err != nil {
				return nil, err
			}
			continue
		case "$eq", "$ne", "$in", "$nin", "$exists":
		default:
			return nil, malformed(path+"["+strconv.Itoa(i)+"]", "unknown_operator",
				"an operator must be $eq, $ne, $in, $nin, $gt, $gte, $lt, $lte or $exists")
		}
		c, err := p.operator(f, op, m[op], at)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	if len(ends) > 0 {
		c, err := f.within(ends)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return both(list), nil
}

// operator reads an operator that is not of a range.
func (p *filterParser) operator(f filterField, op string, v jsontext.Value, path string) (condition, error) {
	if err := p.count(path); err != nil {
		return nil, err
	}
	if op == "$exists" {
		if k := v.Kind(); k != 't' && k != 'f' {
			return nil, malformed(path, "bad_type", "must be a boolean")
		}
		c, err := f.exists(path)
		if err == nil && v.Kind() == 'f' {
			c = not(c)
		}
		return c, err
	}
	values, paths := []jsontext.Value{v}, []string{path}
	if op == "$in" || op == "$nin" {
		var err error
		if values, err = array(v, path, "must be a list of values", MaxFilterValues); err != nil {
			return nil, err
		}
		paths = paths[:0]
		for i := range values {
			paths = append(paths, path+"["+strconv.Itoa(i)+"]")
		}
	}
	if p.values -= len(values); p.values < 0 {
		return nil, tooLarge(path, "all lists of a filter must have at most "+strconv.Itoa(maxAllValues)+" values together")
	}
	for i, v := range values {
		if len(v) > maxScalar {
			return nil, tooLarge(paths[i], "a value must have at most "+strconv.Itoa(maxScalar)+" bytes")
		}
	}
	c, err := f.anyOf(values, paths)
	if err == nil && (op == "$ne" || op == "$nin") {
		c = not(c)
	}
	return c, err
}

func (p *filterParser) count(path string) error {
	if p.conditions--; p.conditions < 0 {
		return tooLarge(path, "a filter must have at most "+strconv.Itoa(MaxFilterConditions)+" conditions")
	}
	return nil
}

// isScalar says whether v is a string, a number or a boolean.
func isScalar(v jsontext.Value) bool {
	switch v.Kind() {
	case '"', '0', 't', 'f':
		return v.IsValid()
	default:
		return false
	}
}
