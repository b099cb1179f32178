package seal

import (
	"fmt"
	"io"
	"log/slog"
)

// KeySize is the length of every key, in bytes.
const KeySize = 32

const redacted = "[secret]"

// Secret is a key that does not let itself be printed: every fmt verb, slog,
// encoding/json and encoding/text show the same placeholder. In an unexported
// field, where fmt cannot call methods, it shows no more than an address.
//
// The zero Secret is no key.
type Secret struct {
	// A pointer to a pointer: fmt follows one to an array when the verb does
	// not fit the type, never two.
	b **[KeySize]byte
}

// String returns a placeholder.
func (s Secret) String() string { return redacted }

// GoString returns a placeholder.
func (s Secret) GoString() string { return redacted }

// Format writes a placeholder whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) {
	// The state swallows write errors; there is nobody to report one to.
	_, _ = io.WriteString(f, redacted)
}

// LogValue returns a placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON returns a placeholder.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns a placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// holdSecret makes a secret of a key without copying it.
func holdSecret(key *[KeySize]byte) Secret { return Secret{b: &key} }

// newSecret copies a key.
func newSecret(key []byte) Secret {
	b := new([KeySize]byte)
	copy(b[:], key)
	return holdSecret(b)
}

// drawSecret draws a new key.
func drawSecret(random io.Reader) (Secret, error) {
	b := new([KeySize]byte)
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return Secret{}, fmt.Errorf("draw key: %w", err)
	}
	return holdSecret(b), nil
}

func (s Secret) isZero() bool { return s.b == nil }

// bytes gives the key itself, not a copy.
func (s Secret) bytes() []byte {
	if s.b == nil {
		return nil
	}
	return (*s.b)[:]
}

func (s Secret) clone() Secret {
	if s.b == nil {
		return Secret{}
	}
	return newSecret(s.bytes())
}

// wipe overwrites the key with zeros. No one else may be using it.
func (s Secret) wipe() { clear(s.bytes()) }
