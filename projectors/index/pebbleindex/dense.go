package pebbleindex

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/internal/dot"
)

// nearby is how many rows the scan of vectors steps over before it seeks.
const nearby = 8

// dense scans the int8 rows in step with the forward rows and keeps those that may be among the first K.
type dense struct {
	it      *pebble.Iterator
	base    []byte // what the keys of the model's int8 rows begin with
	key     []byte
	valid   bool // it stands on a block of the model
	rows    block
	read    bool // rows is the block that it stands on
	none    bool // the model has no vectors at all
	query   rounded
	top     floor
	maybe   []scored // with upper bounds as scores
	missing int
}

func (d *dense) reset() {
	d.it = nil
	d.base, d.key, d.maybe = d.base[:0], d.key[:0], d.maybe[:0]
	d.valid, d.none, d.read, d.missing = false, false, false, 0
	d.rows = block{}
	d.top = floor{heap: d.top.heap[:0]}
}

func (d *dense) begin(ix *Index, it *pebble.Iterator, q *index.Query) error {
	d.it = it
	d.top.k = q.K
	d.query = roundQuery(q.Vector)
	d.key = ix.dimKey(d.key[:0], q.Tenant, q.Model)
	switch dim, err := dimAt(it, d.key); {
	case err != nil:
		return err
	case dim == 0:
		d.none = true
		return nil
	case dim != len(q.Vector):
		return fmt.Errorf("compare dimensions: %w", index.ErrVectorDim)
	}
	d.base = appendLP(ix.start(d.base[:0], sortVector, q.Tenant), q.Model)
	d.valid = it.SeekGE(d.base) && bytes.HasPrefix(it.Key(), d.base)
	return seekError(it)
}

// dimAt returns the dimension stored under key, or zero.
func dimAt(it *pebble.Iterator, key []byte) (int, error) {
	if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
		return 0, seekError(it)
	}
	return parseDim(it.Value())
}

func parseDim(b []byte) (int, error) {
	if len(b) != 2 || binary.BigEndian.Uint16(b) == 0 {
		return 0, fmt.Errorf("read dimension: %w", index.ErrCorrupt)
	}
	return int(binary.BigEndian.Uint16(b)), nil
}

// admit takes the eligible document i. Documents come in key order.
func (d *dense) admit(i int32, r *found) error {
	value, err := d.row(r)
	if err != nil {
		return err
	}
	if value == nil {
		d.missing++
		return nil
	}
	if len(value) != offBytes+len(d.query.values) {
		return fmt.Errorf("read vector row: %w", index.ErrCorrupt)
	}
	if d.top.k == 0 {
		return nil
	}
	score, radius := d.query.bounds(value, dot.I8(value[offBytes:], d.query.values))
	least, full := d.top.min()
	if full && score+radius < least {
		return nil
	}
	d.top.offer(score - radius)
	d.maybe = append(d.maybe, scored{doc: i, score: score + radius})
	return nil
}

// row returns the int8 row of the document, or nil when it has none.
func (d *dense) row(r *found) ([]byte, error) {
	if d.none || !d.advance(r.suffix) {
		return nil, seekError(d.it)
	}
	if !d.read {
		if err := d.rows.parse(d.it.Value()); err != nil {
			return nil, err
		}
		d.read = true
	}
	return d.rows[r.ordinal%blockRows], nil
}

// advance moves to the block with the given suffix and reports whether there is one.
func (d *dense) advance(suffix []byte) bool {
	for step := 0; d.valid; step++ {
		switch c := bytes.Compare(d.it.Key()[len(d.base):], suffix); {
		case c == 0:
			return true
		case c > 0:
			return false
		}
		d.read = false
		if step < nearby {
			d.valid = d.it.Next()
		} else {
			d.key = append(append(d.key[:0], d.base...), suffix...)
			d.valid = d.it.SeekGE(d.key)
		}
		d.valid = d.valid && bytes.HasPrefix(d.it.Key(), d.base)
	}
	return false
}

// finish scores the documents whose upper bound reaches the K-th lower bound from their float32 rows.
func (d *dense) finish(ix *Index, it *pebble.Iterator, q *index.Query, s *scope) ([]scored, error) {
	least, full := d.top.min()
	list := d.maybe[:0]
	for _, c := range d.maybe {
		if full && c.score < least {
			continue
		}
		score, ok, err := d.of(ix, it, q, s.location(c.doc))
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fmt.Errorf("find exact vector: %w", index.ErrCorrupt)
		}
		list = append(list, scored{doc: c.doc, score: score})
	}
	return list, nil
}

// of returns the exact score of the document at a place, and whether it has a vector.
func (d *dense) of(ix *Index, it *pebble.Iterator, q *index.Query, at location) (float64, bool, error) {
	if len(q.Vector) == 0 || d.none {
		return 0, false, nil
	}
	d.key = ix.rescoreKey(d.key[:0], q.Tenant, q.Model, at)
	if !it.SeekGE(d.key) || !bytes.Equal(it.Key(), d.key) {
		return 0, false, seekError(it)
	}
	value := it.Value()
	if len(value) != 4*len(q.Vector) {
		return 0, false, fmt.Errorf("read exact vector: %w", index.ErrCorrupt)
	}
	return dot.F32(value, q.Vector), true, nil
}
