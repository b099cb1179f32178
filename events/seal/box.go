package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"io"
	"sync"
)

const (
	// format is the first byte of everything this package writes.
	format byte = 1

	nonceSize = 12
	tagSize   = 16

	// Overhead is by how many bytes sealed bytes are longer than what they seal:
	// the format byte, the nonce and the tag.
	Overhead = 1 + nonceSize + tagSize
)

// box seals and opens under one key, as format byte, nonce, ciphertext, tag. It
// is safe for concurrent use.
type box struct {
	// A pointer to the interface, so that fmt shows an address and not the
	// expanded key, whatever the verb.
	aead *cipher.AEAD
	// nonces is nil when the cipher draws its own.
	nonces io.Reader
}

// newBox expands a key. The caller may wipe the key afterwards.
func newBox(key Secret, src source) (box, error) {
	block, err := aes.NewCipher(key.bytes())
	if err != nil {
		return box{}, fmt.Errorf("expand key: %w", err)
	}
	if src.own {
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return box{}, fmt.Errorf("make cipher: %w", err)
		}
		return box{aead: &aead}, nil
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return box{}, fmt.Errorf("make cipher: %w", err)
	}
	return box{aead: &aead, nonces: src}, nil
}

// seal appends sealed bytes to dst.
func (b box) seal(dst, plaintext, aad []byte) ([]byte, error) {
	if need := len(dst) + Overhead + len(plaintext); cap(dst) < need {
		dst = append(make([]byte, 0, need), dst...)
	}
	dst = append(dst, format)
	if b.nonces == nil {
		return (*b.aead).Seal(dst, nil, plaintext, aad), nil //nolint:gosec // This AEAD draws its nonce itself.
	}
	var nonce [nonceSize]byte
	if _, err := io.ReadFull(b.nonces, nonce[:]); err != nil {
		return nil, fmt.Errorf("draw nonce: %w", err)
	}
	dst = append(dst, nonce[:]...)
	return (*b.aead).Seal(dst, nonce[:], plaintext, aad), nil
}

// open appends the plaintext to dst, or returns [ErrTampered].
func (b box) open(dst, sealed, aad []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != format {
		return nil, ErrTampered
	}
	nonce, rest := []byte(nil), sealed[1:]
	if b.nonces != nil {
		nonce, rest = sealed[1:1+nonceSize], sealed[1+nonceSize:]
	}
	plaintext, err := (*b.aead).Open(dst, nonce, rest, aad)
	if err != nil {
		// The cipher's own error says nothing more.
		return nil, ErrTampered
	}
	return plaintext, nil
}

// source is where keys, ids and nonces come from.
type source struct {
	io.Reader
	// own says that it is the operating system's, which ciphers draw from themselves.
	own bool
}

// newSource takes nil for the operating system's random source. Any other
// reader is used by one goroutine at a time.
func newSource(random io.Reader) source {
	if random == nil || random == rand.Reader {
		return source{Reader: rand.Reader, own: true}
	}
	return source{Reader: &lockedReader{r: random}}
}

// lockedReader lets one goroutine read at a time.
type lockedReader struct {
	mu sync.Mutex
	r  io.Reader
}

// Read implements [io.Reader].
func (l *lockedReader) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// ReadFull: a short read would let two goroutines share a draw.
	n, err := io.ReadFull(l.r, p)
	if err != nil {
		return n, fmt.Errorf("read random source: %w", err)
	}
	return n, nil
}
