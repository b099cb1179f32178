package seal

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

const (
	// TokenSize is the length in characters of a tenant token, a subject id and
	// a hash: 128 bits in base32.
	TokenSize = 26

	// maxToken bounds one token of a row key, in bytes.
	maxToken = 64
	// maxKey bounds a row key, in bytes.
	maxKey = 200

	idSize = 16
)

// Nobody is the subject id of records that are about no one in particular, such
// as a tenant's procedures. No random subject id equals it.
const Nobody = "aaaaaaaaaaaaaaaaaaaaaaaaaa"

// encodeToken writes 128 bits as a token.
func encodeToken(id []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(id[:idSize]))
}

// keyedToken is the token of a keyed hash over length-prefixed fields.
func keyedToken(key Secret, fields ...string) string {
	mac := hmac.New(sha256.New, key.bytes())
	buf := make([]byte, 0, 128)
	for _, f := range fields {
		buf = appendField(buf, f)
	}
	mac.Write(buf)
	return encodeToken(mac.Sum(nil))
}

// isHashToken reports whether s has the form of a tenant token, subject id or hash.
func isHashToken(s string) bool {
	if len(s) != TokenSize {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// isToken reports whether s may be one token of a row key.
func isToken(s string) bool {
	if s == "" || len(s) > maxToken {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// CheckKey returns [ErrBadKey] unless key is made of dot-separated tokens of
// [a-z0-9-], each of 1 to 64 bytes, at most 200 bytes in all. Such a key is
// valid as the tail of a NATS subject and holds no wildcard.
func CheckKey(key string) error {
	if len(key) > maxKey {
		return ErrBadKey
	}
	for part := range strings.SplitSeq(key, ".") {
		if !isToken(part) {
			return ErrBadKey
		}
	}
	return nil
}

// CheckPrefix returns [ErrBadKey] unless prefix is empty, which means all rows,
// or is well formed in the sense of [CheckKey].
func CheckPrefix(prefix string) error {
	if prefix == "" {
		return nil
	}
	return CheckKey(prefix)
}

// HasPrefix reports whether key lies under prefix, counted in whole tokens: the
// prefix k2.a covers k2.a and k2.a.b but not k2.ab. The empty prefix covers all.
func HasPrefix(key, prefix string) bool {
	if prefix == "" {
		return true
	}
	rest, ok := strings.CutPrefix(key, prefix)
	return ok && (rest == "" || rest[0] == '.')
}

const namesKey = "names"

func tenantRowKey(tenant string) string { return "k1." + tenant }

func subjectRowKey(s Scope) string { return "k2." + s.Tenant + "." + s.Subject + "." + s.Class }

func recordRowKey(tenant, record string) string { return "k3." + tenant + "." + record }

func nameRowKey(tenant, hash string) string { return "sid." + tenant + "." + hash }
