package events

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIdempotencyKey is the length of an idempotency key, in characters.
const MaxIdempotencyKey = 255

// CheckIdempotencyKey allows no key at all, or a printable one. Its error is an
// *InputError. It is the same for every command.
func CheckIdempotencyKey(key string) error {
	const field = "idempotency_key"
	switch {
	case !utf8.ValidString(key):
		return &InputError{Kind: Malformed, Code: "not_utf8", Field: field, Rule: "must be valid UTF-8"}
	case strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &InputError{Kind: Malformed, Code: "not_printable", Field: field, Rule: "must be printable"}
	case utf8.RuneCountInString(key) > MaxIdempotencyKey:
		return &InputError{
			Kind: TooLarge, Code: "too_large", Field: field,
			Rule: "must have at most " + strconv.Itoa(MaxIdempotencyKey) + " characters",
		}
	}
	return nil
}
