package httpapi

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// maxBody bounds a request body in bytes; the core has tighter limits for
// each field.
const maxBody = 16 << 20

// decodeBody reads the JSON body into v, strictly.
func decodeBody(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, is := errors.AsType[*http.MaxBytesError](err); is {
			return &events.InputError{
				Kind: events.TooLarge, Code: "too_large", Field: "body",
				Rule: "at most " + strconv.Itoa(maxBody) + " bytes",
			}
		}
		return &events.InputError{Kind: events.Malformed, Code: "malformed", Field: "body", Rule: "could not be read"}
	}
	if len(b) == 0 {
		b = []byte("{}") // then the core names the first field that is missing
	}
	return decodeStrict(b, v)
}

// decodeQuery reads the query parameters into v, which is a struct: the same
// names, the same strictness as a body. Lists are given by repetition or by
// commas.
func decodeQuery(values url.Values, v any) error {
	kinds := map[string]reflect.Kind{}
	fieldKinds(reflect.TypeOf(v).Elem(), kinds)
	obj := map[string]any{}
	for name, list := range values {
		kind, known := kinds[name]
		switch {
		case !known:
			return &events.InputError{Kind: events.Malformed, Code: "unknown_field", Field: clip(name), Rule: "is not a parameter of this call"}
		case kind == reflect.Slice:
			var all []string
			for _, s := range list {
				all = append(all, strings.Split(s, ",")...)
			}
			obj[name] = all
		case len(list) != 1:
			return &events.InputError{Kind: events.Malformed, Code: "repeated_field", Field: name, Rule: "is given more than once"}
		case kind == reflect.Bool || kind >= reflect.Int && kind <= reflect.Float64:
			obj[name] = jsontext.Value(list[0])
			if !obj[name].(jsontext.Value).IsValid() { //nolint:forcetypeassert // It was assigned on the line above.
				return &events.InputError{Kind: events.Malformed, Code: "malformed", Field: name, Rule: "is not of its type"}
			}
		default:
			obj[name] = list[0]
		}
	}
	b, err := json.Marshal(obj)
	if err != nil { // invalid UTF-8 in a parameter
		return &events.InputError{Kind: events.Malformed, Code: "malformed", Field: "query", Rule: "is not valid UTF-8"}
	}
	return decodeStrict(b, v)
}

func fieldKinds(t reflect.Type, into map[string]reflect.Kind) {
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Tag.Get("json") == "" {
			fieldKinds(f.Type, into)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		into[name] = ft.Kind()
	}
}

// decodeStrict refuses unknown, repeated and differently-cased fields, invalid
// UTF-8, lone surrogates and anything after the value.
func decodeStrict(b []byte, v any) error {
	err := json.Unmarshal(b, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if input, is := errors.AsType[*events.InputError](err); is {
		return input
	}
	bad := &events.InputError{Kind: events.Malformed, Code: "malformed", Field: "body", Rule: "is not valid JSON"}
	if s, is := errors.AsType[*jsontext.SyntacticError](err); is {
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			bad.Code, bad.Rule = "repeated_field", "is given more than once"
		case strings.Contains(s.Error(), "UTF-8") || strings.Contains(s.Error(), "surrogate"):
			bad.Code, bad.Rule = "invalid_encoding", "is not valid UTF-8, or holds a lone surrogate"
		}
		bad.Field = pathOf(s.JSONPointer)
	}
	if s, is := errors.AsType[*json.SemanticError](err); is {
		bad.Field = pathOf(s.JSONPointer)
		bad.Code, bad.Rule = "malformed", "is not of its type"
		if errors.Is(err, json.ErrUnknownName) {
			bad.Code, bad.Rule = "unknown_field", "is not a field of this call"
		}
		if errors.Is(err, events.ErrBadTime) {
			bad.Code, bad.Rule = "bad_time", "want RFC 3339 with an offset"
		}
	}
	return bad
}

// pathOf turns a JSON pointer into the path that problem details use.
func pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	if b.Len() == 0 {
		return "body"
	}
	return clip(b.String())
}

// clip bounds how much of a caller's field name is repeated.
func clip(s string) string {
	const limit = 128
	if r := []rune(strings.ToValidUTF8(s, "?")); len(r) > limit {
		return string(r[:limit])
	}
	return strings.ToValidUTF8(s, "?")
}
