package backup

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// ErrBadKey says that a text is no private key of a ledger.
var ErrBadKey = errors.New("that is no private key of a ledger")

// PublicOf returns the public key of a ledger's private key.
func PublicOf(private string) (string, error) {
	private = strings.TrimSpace(private)
	signer, err := note.NewSigner(private)
	if err != nil {
		return "", ErrBadKey
	}
	// Its form is PRIVATE+KEY+name+hash+key, and the key has its kind before it.
	const parts = 5
	fields := strings.SplitN(private, "+", parts)
	if len(fields) != parts {
		return "", ErrBadKey
	}
	seed, err := base64.StdEncoding.DecodeString(fields[parts-1])
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", ErrBadKey
	}
	key, ok := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", ErrBadKey
	}
	public, err := note.NewEd25519VerifierKey(signer.Name(), key)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return public, nil
}
