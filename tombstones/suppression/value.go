package suppression

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events/token"
)

// Value is a fact's value as it is compared. A text is itself, as that of an
// episode is; anything else has the form of [token.Canonical], by which values of
// facts are equal. Numbers, booleans and null, which mean nothing alone, are kept out of
// their predicate only, and so is what is no JSON.
func Value(predicate string, v jsontext.Value) string {
	if v.Kind() == '"' {
		if text, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(text)
		}
	}
	canonical, err := token.Canonical(v)
	if err != nil {
		canonical = v
	} else if k := v.Kind(); k == '{' || k == '[' {
		return string(canonical)
	}
	return predicate + " = " + string(canonical)
}
