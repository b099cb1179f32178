package token

import "golang.org/x/text/unicode/norm"

// Hasher is a keyed hash of a value of a field: 26 characters of [a-z2-7] that
// are 128 bits in base32. A *seal.Tenant is one.
type Hasher interface {
	Hash(field, value string) string
}

// NFC returns a name in the form in which names are hashed, Unicode
// normalization form C.
func NFC(name string) string { return norm.NFC.String(name) }

// of is the token of a name, "" for none.
func of(h Hasher, field, name string) string {
	if name == "" {
		return ""
	}
	return h.Hash(field, NFC(name))
}
