package token

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/annals-memory/annals/events"
)

// Canonical returns a JSON value in the form of RFC 8785, except that integers
// keep all their digits and a number out of the range of a float64 is the largest
// one. The value itself is left as it is. What is no JSON, or has a member twice,
// is events.ErrInvalid.
func Canonical(v jsontext.Value) (jsontext.Value, error) {
	c := v.Clone()
	if err := c.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, fmt.Errorf("canonicalize value: %w", events.ErrInvalid) // the error itself may quote the value
	}
	return c, nil
}

// Comparable says whether a scalar keeps its size in [Canonical], which makes a float64
// of a number with a fraction or an exponent: one beyond all float64 would be equal to
// the greatest, and one below them to zero.
func Comparable(v jsontext.Value) bool {
	if v.Kind() != '0' || !bytes.ContainsAny(v, ".eE") {
		return true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	mantissa, _, _ := bytes.Cut(bytes.ToLower(v), []byte("e"))
	return err == nil && (f != 0 || !bytes.ContainsAny(mantissa, "123456789"))
}

// Fingerprint returns what tells requests under one idempotency key apart. It is
// equal for requests that mean the same: members in any order, numbers in any
// notation. A request that JSON cannot write is events.ErrInvalid.
func Fingerprint(h Hasher, request any) (string, error) {
	raw, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("encode request: %w", events.ErrInvalid) // as above
	}
	canonical, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	return h.Hash("fingerprint", string(canonical)), nil
}

// Question returns the token of all of a request for a page but where to go on.
func Question(h Hasher, question string) string { return h.Hash("question", question) }

// Cursor returns what proves that the payload of a cursor was made here.
func Cursor(h Hasher, payload string) string { return h.Hash("cursor", payload) }
