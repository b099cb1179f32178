package words

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// Key returns the token of a term in a tenant: the first eight bytes of HMAC-SHA256 under the tenant's key, big endian.
// Without the key nobody can go through a dictionary to find the word behind a token. Two terms share a token with a
// chance of one in 2^64.
func Key(tenantKey []byte, term string) uint64 {
	return NewKeyer(tenantKey).Key(term)
}

// Keyer makes the tokens of many terms under one tenant's key. It is not safe for concurrent use.
type Keyer struct {
	mac hash.Hash
	sum []byte
}

// NewKeyer returns a Keyer under tenantKey.
func NewKeyer(tenantKey []byte) *Keyer {
	return &Keyer{mac: hmac.New(sha256.New, tenantKey)}
}

// Key returns what the function Key does.
func (k *Keyer) Key(term string) uint64 {
	k.mac.Reset()
	_, _ = k.mac.Write([]byte(term)) // a hash never fails
	k.sum = k.mac.Sum(k.sum[:0])
	return binary.BigEndian.Uint64(k.sum)
}
