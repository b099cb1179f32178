package projectors

import (
	"encoding/base64"
	"fmt"
)

// A cursor is the key of the first row of the next page. It is not authenticated: whoever hands it out must see to that.

func cursor(k []byte) string { return base64.RawURLEncoding.EncodeToString(k) }

func parseCursor(s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	k, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return nil, fmt.Errorf("read cursor: %w", ErrFilter)
	}
	return k, nil
}

// cursorUnder reads a cursor that must lead to a row under prefix.
func cursorUnder(s string, prefix []byte) ([]byte, error) {
	k, err := parseCursor(s)
	if err != nil || k == nil {
		return nil, err
	}
	if len(k) <= len(prefix) || string(k[:len(prefix)]) != string(prefix) {
		return nil, fmt.Errorf("read cursor: %w", ErrFilter)
	}
	return k, nil
}

func pageLimit(n int) int {
	if n <= 0 {
		return defaultLimit
	}
	return n
}
