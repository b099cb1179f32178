package seal

import (
	"crypto/sha256"
	"encoding/binary"
)

// Mark is what is told of a stored row without its value: where it is, and a hash
// of it.
type Mark struct {
	// Revision is the row's, which no other row of the store ever has.
	Revision uint64
	Hash     [sha256.Size]byte
}

// MarkOf is the mark of a row: the SHA-256 of its revision in 8 bytes, most
// significant first, the length of its key in the same form, its key and its value.
func MarkOf(row Row) Mark {
	h := sha256.New()
	var n [16]byte
	binary.BigEndian.PutUint64(n[:8], row.Revision)
	binary.BigEndian.PutUint64(n[8:], uint64(len(row.Key)))
	_, _ = h.Write(n[:]) // a hash takes everything
	_, _ = h.Write([]byte(row.Key))
	_, _ = h.Write(row.Value)
	return Mark{Revision: row.Revision, Hash: [sha256.Size]byte(h.Sum(nil))}
}

// Removal names rows that are about to be removed for good: because they are to
// be destroyed, or because others have taken their place.
type Removal struct {
	Marks []Mark
	// Last is the revision of the last row that has taken the place of one of
	// them, 0 if none has.
	Last uint64
	// Plain says that what the files of the store hold of them may stay there, as
	// with [RowRemover.Discard].
	Plain bool
}
