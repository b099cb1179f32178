package query

import (
	"crypto/subtle"
	"encoding/base64"
	"strings"

	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// maxCursor bounds a cursor in bytes; what is longer was not made here.
const maxCursor = 2048

// A cursor is
//
//	base64url(question hash "\x00" key of the last row) "." keyed hash of that
//
// The keyed hash is the tenant's own: an edited cursor, another tenant's, and
// one of another question are all refused. It says where to go on, not what was
// seen: rows that appear behind it are found, and none is shown twice.

func badCursor() error {
	return malformed("cursor", "bad_cursor", "must be a cursor of an answer to the same question")
}

func encodeCursor(t *seal.Tenant, question, after string) string {
	if after == "" {
		return ""
	}
	payload := token.Question(t, question) + "\x00" + after
	return base64.RawURLEncoding.EncodeToString([]byte(payload)) + "." + token.Cursor(t, payload)
}

func decodeCursor(t *seal.Tenant, question, cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	bad := badCursor()
	if len(cursor) > maxCursor {
		return "", bad
	}
	encoded, mac, ok := strings.Cut(cursor, ".")
	if !ok {
		return "", bad
	}
	payload, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", bad
	}
	if subtle.ConstantTimeCompare([]byte(mac), []byte(token.Cursor(t, string(payload)))) != 1 {
		return "", bad
	}
	asked, after, ok := strings.Cut(string(payload), "\x00")
	if !ok || asked != token.Question(t, question) {
		return "", bad
	}
	return after, nil
}
