package seal

import (
	"errors"
	"fmt"
)

// Errors that callers decide on. None carries a value, a name or a key.
var (
	// ErrNoRow says that a row is absent.
	ErrNoRow = errors.New("no such row")
	// ErrRowExists says that a row to create was already there.
	ErrRowExists = errors.New("row exists")
	// ErrRowConflict says that a row to overwrite has another revision or is gone.
	ErrRowConflict = errors.New("row has another revision")
	// ErrBadKey says that a row key is not made of dot-separated tokens of [a-z0-9-].
	ErrBadKey = errors.New("row key is malformed")
	// ErrTooMany says that more than [MaxCreate] rows or records were asked for at once.
	ErrTooMany = errors.New("too many rows at once")

	// ErrUnknownTenant says that a tenant has no key and none was to be made.
	ErrUnknownTenant = errors.New("unknown tenant")
	// ErrUnknownSubject says that a name has no subject id and none was to be made.
	ErrUnknownSubject = errors.New("unknown subject")
	// ErrEmptyName says that a tenant, a subject or a category is the empty string.
	ErrEmptyName = errors.New("name is empty")
	// ErrBadToken says that a scope or label holds something that is not a token.
	ErrBadToken = errors.New("token is malformed")
	// ErrNoteTooLong says that a record's note exceeds [MaxNote] bytes.
	ErrNoteTooLong = errors.New("note is too long")

	// ErrKeyDestroyed says that a key of the chain is gone, so that what it
	// protects can never be opened again.
	ErrKeyDestroyed = errors.New("key destroyed")
	// ErrTampered says that bytes are damaged, or are not where they were sealed for.
	ErrTampered = errors.New("sealed bytes are damaged or were moved")
	// ErrOtherRoot says that a row is wrapped by a root key that is not at hand.
	ErrOtherRoot = errors.New("row is wrapped by another root key")
	// ErrRotated says that another rotation changed the same key at the same time.
	ErrRotated = errors.New("key is being rotated elsewhere")
	// ErrOptions says that a constructor was called without something it needs.
	ErrOptions = errors.New("option is missing")
)

// RowExistsError names the row that kept a creation from happening. It matches
// [ErrRowExists]; nothing was written.
type RowExistsError struct {
	// Key is the key of one row that was already there.
	Key string
}

// Error names the row's key, which holds opaque tokens only.
func (e *RowExistsError) Error() string { return fmt.Sprintf("row %s exists", e.Key) }

// Is reports whether target is [ErrRowExists].
func (e *RowExistsError) Is(target error) bool { return target == ErrRowExists }

// Level is a step of the key chain.
type Level string

// The levels of the key chain that are rows.
const (
	LevelInstance Level = "instance"
	LevelTenant   Level = "tenant"
	LevelSubject  Level = "subject"
	LevelRecord   Level = "record"
)

// KeyDestroyedError says which level of the chain is missing. It matches
// [ErrKeyDestroyed].
type KeyDestroyedError struct {
	// Level is the highest level whose row is absent.
	Level Level
}

// Error says the level.
func (e *KeyDestroyedError) Error() string { return string(e.Level) + " key destroyed" }

// Is reports whether target is [ErrKeyDestroyed].
func (e *KeyDestroyedError) Is(target error) bool { return target == ErrKeyDestroyed }

// TokenError says which field is not a token. It matches [ErrBadToken] and does
// not repeat the offending text, which may be a name.
type TokenError struct {
	// Field is the name of the field, such as "subject".
	Field string
}

// Error says the field.
func (e *TokenError) Error() string { return e.Field + " is not a token" }

// Is reports whether target is [ErrBadToken].
func (e *TokenError) Is(target error) bool { return target == ErrBadToken }
