package token

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/annals-memory/annals/events"
)

// Command returns the id of the record that a command under an idempotency key
// makes, whenever and wherever it is repeated. The principal is the caller's
// name, byte for byte; item tells the parts of one command apart, such as those
// of a batch, and is "" if there are none.
func Command(h Hasher, command, principal, key, item string) string {
	return id(h, "idem", lengths(command, principal, key, item))
}

// Erasure returns the id of the erasure that a command under an idempotency key
// is. The principal is given by its token.
func Erasure(h Hasher, command, principal, key string) string {
	return id(h, "idem", lengths(command, principal, key))
}

// Tombstone returns the id of the commit that an erasure makes of an aggregate
// after a position.
func Tombstone(h Hasher, erasure string, agg events.Aggregate, after uint64) string {
	return id(h, "tombstone", lengths(erasure, string(agg.Kind), agg.ID, strconv.FormatUint(after, 10)))
}

// Vector returns the id of the commit of a record's vector by a model. It needs
// no key, because ids are all that it is made of.
func Vector(record, model string) string {
	sum := sha256.Sum256([]byte("vector\x00" + record + "\x00" + model))
	return version8(sum[:])
}

// Decision returns the id of the commit that first decides on a candidate. It
// needs no key either.
func Decision(candidate string) string {
	sum := sha256.Sum256([]byte("decision\x00" + candidate))
	return version8(sum[:])
}

// CanonicalID returns a UUID of any version, with letters in any case, in the
// form in which records have it, in lower case, or "" for what is no UUID.
func CanonicalID(s string) string {
	const form = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
	if len(s) != len(form) {
		return ""
	}
	b := []byte(s)
	for i, c := range b {
		switch {
		case form[i] == '-':
			if c != '-' {
				return ""
			}
		case c >= 'A' && c <= 'F':
			b[i] = c - 'A' + 'a'
		case (c < '0' || c > '9') && (c < 'a' || c > 'f'):
			return ""
		}
	}
	return string(b)
}

// IsDerived says whether a canonical id may have been made from names, as those of
// commands with an idempotency key are: the same call would get it again. A fresh
// id never is.
func IsDerived(id string) bool { return len(id) == 36 && id[14] == '8' }

// id makes a UUID of a hash. What is no hash has "", which the log refuses.
func id(h Hasher, field, value string) string {
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(h.Hash(field, value)))
	if err != nil || len(raw) < 16 {
		return ""
	}
	return version8(raw)
}

// version8 writes the first 16 bytes as a UUID of version 8.
func version8(raw []byte) string {
	var u [16]byte
	copy(u[:], raw)
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	x := hex.EncodeToString(u[:])
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// lengths joins parts so that no two lists give the same.
func lengths(parts ...string) string {
	var b strings.Builder
	for _, s := range parts {
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	return b.String()
}
