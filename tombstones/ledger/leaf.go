package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/annals-memory/annals/events"
)

// MessageHash is the hash of a message of the log: its subject, the fields of
// its header in the order id, time, principal, trace parent, number of types,
// types, then its data and the nanoseconds of the time at which it was recorded.
// Each is preceded by its length in 8 bytes, most significant first.
func MessageHash(m events.Message) [sha256.Size]byte {
	h := sha256.New()
	field(h, []byte(m.Subject))
	field(h, []byte(m.Header.ID))
	field(h, []byte(m.Header.Time.UTC().Format(time.RFC3339Nano)))
	field(h, []byte(m.Header.Principal))
	field(h, []byte(m.Header.TraceParent))
	field(h, number(uint64(len(m.Header.Types))))
	for _, t := range m.Header.Types {
		field(h, []byte(t))
	}
	field(h, m.Data)
	field(h, number(uint64(m.RecordedAt.UnixNano())))
	return [sha256.Size]byte(h.Sum(nil))
}

// Leaf is the leaf of the tree for a position: the RFC 6962 hash of a leaf over
// the position in 8 bytes, most significant first, and the hash of the message.
// The leaf of an empty position has a hash of zeros.
func Leaf(position uint64, message [sha256.Size]byte) tlog.Hash {
	return tlog.RecordHash(append(number(position), message[:]...))
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func field(h hash.Hash, b []byte) {
	_, _ = h.Write(number(uint64(len(b)))) // a hash takes everything
	_, _ = h.Write(b)
}
