package projectors

import (
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

func closeInto(c io.Closer, err *error) {
	if e := c.Close(); e != nil && *err == nil {
		*err = fmt.Errorf("close reader: %w", e)
	}
}

// get hands a stored value to use, which must not keep it. It returns false if there is none.
func get(r pebble.Reader, key []byte, use func(value []byte) error) (found bool, err error) {
	value, closer, err := r.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read row: %w", err)
	}
	defer closeInto(closer, &err)
	return true, use(value)
}

func has(r pebble.Reader, key []byte) (bool, error) {
	return get(r, key, func([]byte) error { return nil })
}

// hasAny reports whether there are rows under a prefix.
func hasAny(r pebble.Reader, prefix []byte) (found bool, err error) {
	err = scan(r, prefix, nil, func([]byte, []byte) (bool, error) {
		found = true
		return false, nil
	})
	return found, err
}

// scan hands the rows under prefix, from the key from on (nil is the first), to use, which must not keep them, until it
// returns false.
func scan(r pebble.Reader, prefix, from []byte, use func(key, value []byte) (more bool, err error)) (err error) {
	it, err := r.NewIter(under(prefix))
	if err != nil {
		return fmt.Errorf("scan rows: %w", err)
	}
	defer closeInto(it, &err)
	ok := it.First()
	if from != nil {
		ok = it.SeekGE(from)
	}
	for ; ok; ok = it.Next() {
		more, err := use(it.Key(), it.Value())
		if err != nil || !more {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("scan rows: %w", err)
	}
	return nil
}

// errRow is an ErrCorrupt for a key or value of a sort.
func errRow(sort byte) error { return fmt.Errorf("read row of sort %c: %w", sort, ErrCorrupt) }
