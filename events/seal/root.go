package seal

import "context"

// Root is the key at the top of the chain, and the one place where keys are
// destroyed for certain: a file, or a key management service. It is safe for
// concurrent use.
type Root interface {
	// Wrap encrypts at most a few hundred bytes and binds them to aad.
	Wrap(ctx context.Context, plaintext, aad []byte) (wrapped []byte, err error)
	// Unwrap returns what was wrapped. It returns an error that matches
	// [ErrTampered] when the bytes or aad are not those of [Root.Wrap], and an
	// error of another kind when the root cannot be asked.
	Unwrap(ctx context.Context, wrapped, aad []byte) (plaintext []byte, err error)
	// ID names the key and its epoch, and is no secret: another key has another
	// id, of at most 255 bytes.
	ID() string
}
