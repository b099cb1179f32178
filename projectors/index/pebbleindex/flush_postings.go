package pebbleindex

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
)

// change is one posting to write, or to take away when tf is zero.
type change struct {
	tenant, subject string
	term            uint64
	ordinal         uint32
	tf              uint16
}

// sameBlock reports whether both changes are in one block of postings.
func (c *change) sameBlock(o *change) bool {
	return c.term == o.term && c.ordinal/postingSpan == o.ordinal/postingSpan && c.subject == o.subject && c.tenant == o.tenant
}

// compareChanges orders by the keys of the blocks and then by ordinal. Subjects are ordered as lp(subject) is.
func compareChanges(a, b change) int {
	if a.tenant == b.tenant && a.subject == b.subject {
		if c := cmp.Compare(a.term, b.term); c != 0 {
			return c
		}
		return cmp.Compare(a.ordinal, b.ordinal)
	}
	return cmp.Or(
		cmp.Compare(len(a.tenant), len(b.tenant)), cmp.Compare(a.tenant, b.tenant),
		cmp.Compare(a.term, b.term),
		cmp.Compare(len(a.subject), len(b.subject)), cmp.Compare(a.subject, b.subject),
		cmp.Compare(a.ordinal, b.ordinal),
	)
}

// writePostings applies the changes block by block in key order, which both reading and writing take fastest.
func (f *flusher) writePostings() (err error) {
	if len(f.postings) == 0 {
		return nil
	}
	slices.SortFunc(f.postings, compareChanges)
	lower, upper := f.ix.bounds()
	it, err := f.w.r.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return fmt.Errorf("open index iterator: %w", err)
	}
	defer closeInto(it, &err)
	for list := f.postings; len(list) > 0; {
		first := &list[0]
		n := 1
		for n < len(list) && first.sameBlock(&list[n]) {
			n++
		}
		f.key = f.ix.postingKey(f.key[:0], first.tenant, first.term, first.subject, first.ordinal/postingSpan)
		var old []byte
		if it.SeekGE(f.key) && bytes.Equal(it.Key(), f.key) {
			old = it.Value()
		}
		if err := seekError(it); err != nil {
			return err
		}
		value, err := mergePostings(f.value[:0], old, list[:n])
		if err != nil {
			return err
		}
		if len(value) > 0 {
			f.set(value)
		} else {
			f.delete()
		}
		list = list[n:]
	}
	return nil
}

// mergePostings appends to b the block old with changes, which are in order of ordinals.
func mergePostings(b, old []byte, changes []change) ([]byte, error) {
	r := postingReader{b: old}
	next := uint32(0)
	place, tf, ok := r.read()
	for ok || len(changes) > 0 {
		if len(changes) > 0 {
			c := changes[0]
			if at := c.ordinal % postingSpan; !ok || at <= place {
				changes = changes[1:]
				if ok && at == place {
					place, tf, ok = r.read()
				}
				if c.tf > 0 {
					b, next = appendPosting(b, next, at, c.tf)
				}
				continue
			}
		}
		b, next = appendPosting(b, next, place, tf)
		place, tf, ok = r.read()
	}
	if r.bad {
		return nil, fmt.Errorf("read postings: %w", index.ErrCorrupt)
	}
	return b, nil
}
