package producers

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
)

// The limits of requests.
const (
	// MaxName is the length of names and other short fields, in characters.
	MaxName = 256
	// MaxText is the length of a text, in bytes.
	MaxText = 1 << 20
	// MaxValue is the length of a fact's value as JSON, in bytes.
	MaxValue = 64 << 10
	// MaxMetadata is the length of all metadata as JSON, in bytes.
	MaxMetadata = 16 << 10
	// MaxEntries bounds metadata keys, entities, actors, sources and provenance.
	MaxEntries = 64
	// MaxMemories bounds the memories named by one report on a trace.
	MaxMemories = 1_000
	// MaxItems bounds a batch.
	MaxItems = events.MaxBatch
	// ClockSlack is how far ahead of this clock a time of observation may be.
	ClockSlack = time.Second
)

func malformed(code, field, rule string) error {
	return &events.InputError{Kind: events.Malformed, Code: code, Field: field, Rule: rule}
}

func refused(code, field, rule string) error {
	return &events.InputError{Kind: events.Refused, Code: code, Field: field, Rule: rule}
}

func tooLarge(code, field, rule string) error {
	return &events.InputError{Kind: events.TooLarge, Code: code, Field: field, Rule: rule}
}

// first is the first error of the checks, which are in the order of the fields.
func first(checks ...error) error {
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

func missing(field string) error { return malformed("missing", field, "is required") }

// required is name, and not blank.
func required(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return missing(field)
	}
	return name(field, s)
}

// name allows a short text on one line.
func name(field, s string) error {
	switch {
	case !utf8.ValidString(s):
		return malformed("not_utf8", field, "must be valid UTF-8")
	case strings.ContainsFunc(s, unicode.IsControl):
		return malformed("control_character", field, "must not hold control characters")
	case len(s) > MaxName && utf8.RuneCountInString(s) > MaxName:
		return tooLarge("too_large", field, "must have at most "+strconv.Itoa(MaxName)+" characters")
	}
	return nil
}

// categoryName allows a name in which no letter can be taken for one of another
// script: a consent must not be got around by a letter that looks like the right one.
func categoryName(field, s string) error {
	if err := name(field, s); err != nil {
		return err
	}
	if token.MixesScripts(token.CategoryName(s)) {
		return malformed("mixed_scripts", field, "must not mix the letters of several scripts")
	}
	return nil
}

// text allows anything but NUL.
func text(field, s string) error {
	switch {
	case len(s) > MaxText:
		return tooLarge("too_large", field, "must have at most "+strconv.Itoa(MaxText)+" bytes")
	case !utf8.ValidString(s):
		return malformed("not_utf8", field, "must be valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return malformed("nul", field, "must not hold NUL")
	}
	return nil
}

func requiredText(field, s string) error {
	if strings.TrimSpace(s) == "" {
		return missing(field)
	}
	return text(field, s)
}

func atMost(field string, n, limit int) error {
	if n > limit {
		return tooLarge("too_many", field, "must have at most "+strconv.Itoa(limit)+" entries")
	}
	return nil
}

// instant allows the times that RFC 3339 can write; the zero instant is not one.
func instant(field string, t *events.Time) error {
	if t != nil && (t.IsZero() || t.UTC().Year() < 1 || t.UTC().Year() > 9999) {
		return malformed("out_of_range", field, "must be in the years 1 to 9999")
	}
	return nil
}

// past allows times up to now, with a slack for clocks that differ.
func past(field string, t *events.Time, now time.Time) error {
	if err := instant(field, t); err != nil {
		return err
	}
	if t != nil && t.After(now.Add(ClockSlack)) {
		return refused("in_the_future", field, "must not be in the future")
	}
	return nil
}

// jsonValue allows one JSON value of valid UTF-8 without duplicate members and
// without NUL in any string.
func jsonValue(field string, v jsontext.Value) error {
	d := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return malformed("not_json", field, "must be JSON of valid UTF-8 without duplicate members")
		}
		if tok.Kind() == '"' && strings.IndexByte(tok.String(), 0) >= 0 {
			return malformed("nul", field, "must not hold NUL")
		}
	}
	if !v.IsValid() { // two values, or none
		return malformed("not_json", field, "must be one JSON value")
	}
	return nil
}

// index is the path of an entry of a list.
func index(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func each[T any](field string, list []T, check func(field string, v T) error) error {
	for i, v := range list {
		if err := check(index(field, i), v); err != nil {
			return err
		}
	}
	return nil
}

func source(field string, s events.Source) error {
	return first(
		required(field+".kind", s.Kind), trimmed(field+".kind", s.Kind), required(field+".ref", s.Ref),
		name(field+".revision", s.Revision), trimmed(field+".revision", s.Revision),
	)
}

// trimmed refuses blanks around a name that is compared as it is: nobody sees them.
func trimmed(field, s string) error {
	if strings.TrimSpace(s) != s {
		return malformed("surrounding_blank", field, "must not begin or end with a blank")
	}
	return nil
}
