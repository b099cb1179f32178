package seal

import (
	"context"
	"iter"
)

// MaxCreate is the largest number of rows that one [Rows.Create] or [Rows.Replace]
// takes.
const MaxCreate = 1000

// Row is one stored value. Values are wrapped keys and sealed ids: ciphertext,
// with opaque tokens beside it.
type Row struct {
	// Key is the row's address, well formed in the sense of [CheckKey].
	Key string
	// Value is what is stored.
	Value []byte
	// Revision is set by the store: greater than zero, greater after every
	// write to the key, and never used again for the key even after the row
	// was destroyed.
	Revision uint64
}

// Rows is the store of wrapped keys. It is safe for concurrent use, by several
// processes too, and its reads see every write that was acknowledged before
// they began, whoever wrote it. Slices that cross the port belong to the
// caller in both directions: a store keeps copies. Every method returns
// [ErrBadKey] for a malformed key, having changed nothing.
type Rows interface {
	RowReader
	RowWriter
	RowRemover
}

// RowReader is the part of [Rows] that reads.
type RowReader interface {
	// Get returns one row, or [ErrNoRow].
	Get(ctx context.Context, key string) (Row, error)
	// GetMany returns the rows among keys that exist, by key. It takes any
	// number of keys, repeated ones too. The answer is not one snapshot: each
	// row is as of some moment during the call.
	GetMany(ctx context.Context, keys []string) (map[string]Row, error)
	// List yields the rows under a prefix of whole tokens, in no particular
	// order, each once. Rows that are written or destroyed meanwhile may or may
	// not be seen. An error ends the sequence. The caller may write and destroy
	// rows while it ranges.
	List(ctx context.Context, prefix string) iter.Seq2[Row, error]
}

// RowWriter is the part of [Rows] that writes.
type RowWriter interface {
	// Create writes rows whose keys are all absent, all or none; Revision is
	// ignored. It returns a [*RowExistsError] if a key exists or is given
	// twice, and [ErrTooMany] above [MaxCreate] rows. No row at all is success.
	// After an error of another kind the rows may or may not have been written.
	Create(ctx context.Context, rows ...Row) error
	// Put overwrites the row if its stored revision is row.Revision and
	// returns the new revision; otherwise, and when the row is absent, it
	// returns [ErrRowConflict]. It never creates a row, Revision zero included.
	// The former value is removed physically, as by Destroy.
	Put(ctx context.Context, row Row) (revision uint64, err error)
	// Replace overwrites rows as Put does, all or none, but what the files of
	// the store hold of the former values may stay there, unreachable through
	// the port, until the store makes use of the space: it is for values that
	// are wrapped under a key which is about to be destroyed. It returns
	// [ErrRowConflict], having changed nothing, if a row is absent, has another
	// revision or is given twice, and [ErrTooMany] above [MaxCreate] rows. No
	// row at all is success. After an error of another kind the rows may or may
	// not have been replaced.
	Replace(ctx context.Context, rows ...Row) error
}

// RowRemover is the part of [Rows] that removes.
type RowRemover interface {
	// Destroy removes rows physically, so that no file of the store holds
	// their values any more, except former ones that Replace has left. An absent
	// row is success. It is not atomic: after an error some rows may be gone, and
	// the call can be repeated. What is created under the keys meanwhile may go
	// too.
	Destroy(ctx context.Context, keys ...string) error
	// DestroyAt does what Destroy does to one row if its stored revision is
	// row.Revision; with another one it returns [ErrRowConflict] and removes
	// nothing that is newer. An absent row is success. Unlike Destroy, which may
	// take along what is created under the key meanwhile, it never does. Value is
	// ignored.
	DestroyAt(ctx context.Context, row Row) error
	// Discard removes any number of rows whose stored revision is the one given,
	// and leaves others alone. What the files of the store hold of them may stay
	// there, as with Replace: it is for values that nothing can open any more.
	// An absent row is success. It is not atomic: after an error some rows may
	// be gone, and the call can be repeated.
	Discard(ctx context.Context, rows ...Row) error
}
