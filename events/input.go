package events

import "errors"

// What commands and queries say to their callers, whatever the door. None of
// these, nor any error that wraps them, holds text of a memory.
var (
	// ErrNotFound: it is not there, or not the caller's: the two are one.
	ErrNotFound = errors.New("not found")
	// ErrForgotten: it was there and was forgotten.
	ErrForgotten = errors.New("forgotten")
	// ErrForbidden: the credential lacks the role.
	ErrForbidden = errors.New("forbidden")
	// ErrKeyReused: the idempotency key was used for another request.
	ErrKeyReused = errors.New("idempotency key was used with another request")
	// ErrBadTime: a time is not RFC 3339 with an offset.
	ErrBadTime = errors.New("bad time")
	// ErrBehind: a view is not at the position that was waited for.
	ErrBehind = errors.New("view is behind")
)

// InputKind says how an input is wrong.
type InputKind uint8

// The kinds of wrong input.
const (
	// Malformed: a field is missing, unknown or outside its type's rules.
	Malformed InputKind = iota
	// Refused: well formed, and refused by a rule of the domain.
	Refused
	// TooLarge: over a limit.
	TooLarge
)

// InputError says which field of a request breaks which rule. Nothing has
// happened when it is returned.
type InputError struct {
	Kind InputKind
	// Code is stable and snake_case, such as "missing" or "in_the_future".
	Code string
	// Field is the path of the field, such as "items[3].occurred_at".
	Field string
	// Rule is the rule in words; it never repeats the input.
	Rule string
}

// Error names the field and the rule.
func (e *InputError) Error() string { return e.Field + ": " + e.Rule }
