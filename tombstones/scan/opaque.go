package scan

import (
	"bytes"
	"path"
	"strings"
)

// headBytes is how much of a file opaque looks at.
const headBytes = 8

// opaque says why a file cannot be searched whatever is looked for, "" if it
// can. It knows the stores that a data directory has and what files are packed
// in by hand.
func opaque(name string, head []byte) string {
	base := path.Base(name)
	switch ext := path.Ext(base); {
	case base == "meta.key", ext == ".key" && path.Base(path.Dir(name)) == "msgs":
		return "the log is encrypted by its server: neither a scan nor a secure deletion says anything"
	case ext == ".blk" && bytes.HasPrefix(head, []byte("cmp")):
		return "the log's blocks are compressed: neither a scan nor a secure deletion says anything"
	case ext == ".blob":
		return "values of a view stand in a file of their own"
	}
	for _, packed := range []struct{ name, magic string }{
		{"gzip", "\x1f\x8b\x08"},
		{"zstd", "\x28\xb5\x2f\xfd"},
		{"xz", "\xfd7zXZ\x00"},
		{"bzip2", "BZh"},
		{"zip", "PK\x03\x04"},
		{"7z", "7z\xbc\xaf\x27\x1c"},
		{"lz4", "\x04\x22\x4d\x18"},
		{"snappy", "\xff\x06\x00\x00sN"},
	} {
		if strings.HasPrefix(string(head), packed.magic) {
			return "compressed with " + packed.name
		}
	}
	return ""
}
