package suppression

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Value is a fact's value as it is compared. A text is itself, as that of an
// episode is. Numbers, booleans and null, which mean nothing alone, are kept out of
// their predicate only, and so is what is no JSON.
func Value(predicate string, v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		if text, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(text)
		}
	case '{', '[':
		c := v.Clone()
		if err := c.Canonicalize(); err == nil {
			return string(c)
		}
	}
	c := v.Clone()
	_ = c.Canonicalize() // what it cannot read stays as it is
	return predicate + " = " + string(c)
}
