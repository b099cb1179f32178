package scan

import "context"

// Format unpacks files whose own bytes do not show what they hold, such as the
// compressed tables of a database.
type Format interface {
	// Name names the format.
	Name() string
	// Has reports whether a file is of the format, by its base name.
	Has(name string) bool
	// Unpack calls yield with every piece of the file at path, each whole. The
	// pieces are not kept. An error is reported as a file that could not be
	// searched.
	Unpack(ctx context.Context, path string, yield func(piece []byte) error) error
	// Plant writes a file of the format that holds the values, packed. Its base
	// name is one that Has knows.
	Plant(ctx context.Context, dir string, values [][]byte) error
}
