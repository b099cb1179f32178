package pebbleindex

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"

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
	suffix  []byte
	view    vectorView
	sums    [vectorRows]int32
	none    bool // the model has no vectors at all
	query   rounded
	top     floor
	maybe   []scored // with upper bounds as scores
	want    []wanted // whose exact scores are read next
	exact   []scored // with exact scores, in key order
	missing int
}

func (d *dense) reset() {
	d.it = nil
	d.base, d.key, d.maybe, d.exact = d.base[:0], d.key[:0], d.maybe[:0], d.exact[:0]
	d.valid, d.none, d.missing = false, false, 0
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

// admit takes the eligible documents of a block. Blocks come in key order.
func (d *dense) admit(b *scopeBlock, subject []byte) error {
	first := b.first
	for w, eligible := range b.eligible {
		if eligible != 0 {
			d.suffix = binary.BigEndian.AppendUint32(append(d.suffix[:0], subject...), b.number*blockWords+uint32(w))
			if err := d.word(eligible, b.set[w], first); err != nil {
				return err
			}
		}
		first += int32(bits.OnesCount64(b.set[w])) //nolint:gosec // at most 64
	}
	return nil
}

// word takes the eligible documents of the block of vectors with the suffix. set has all its documents, and first is the
// number of the first of them.
func (d *dense) word(eligible, set uint64, first int32) error {
	if d.none || !d.advance() {
		d.missing += bits.OnesCount64(eligible)
		return seekError(d.it)
	}
	if err := d.view.parse(d.it.Value()); err != nil {
		return err
	}
	if d.view.dim != len(d.query.values) {
		return fmt.Errorf("read vector block: %w", index.ErrCorrupt)
	}
	d.missing += bits.OnesCount64(eligible &^ d.view.set)
	if d.top.k > 0 {
		d.score(eligible&d.view.set, set, first)
	}
	return nil
}

// score takes the documents of want, which are among those of set and have rows in the view.
func (d *dense) score(want, set uint64, first int32) {
	n, rows := d.view.dim, d.view.rows
	// Taking rows that nobody wants costs less than taking most of them one by one.
	all := 2*bits.OnesCount64(want) > bits.OnesCount64(d.view.set)
	if all {
		dot.I8Rows(rows, d.query.values, d.sums[:bits.OnesCount64(d.view.set)])
	}
	least, full := d.top.min()
	for ; want != 0; want &= want - 1 {
		place := uint32(bits.TrailingZeros64(want)) //nolint:gosec // below 64
		rank := rankIn(d.view.set, place)
		if !all {
			d.sums[rank] = dot.I8(rows[rank*n:], d.query.values)
		}
		score, radius := d.query.bounds(&d.view, rank, d.sums[rank])
		if full && score+radius < least {
			continue
		}
		d.maybe = append(d.maybe, scored{doc: first + int32(rankIn(set, place)), score: score + radius}) //nolint:gosec // at most 64
		if !full || score-radius > least {
			d.top.offer(score - radius)
			least, full = d.top.min()
		}
	}
}

// advance moves to the block with the suffix and reports whether there is one.
func (d *dense) advance() bool {
	for step := 0; d.valid; step++ {
		switch c := bytes.Compare(d.it.Key()[len(d.base):], d.suffix); {
		case c == 0:
			return true
		case c > 0:
			return false
		}
		if step < nearby {
			d.valid = d.it.Next()
		} else {
			d.key = append(append(d.key[:0], d.base...), d.suffix...)
			d.valid = d.it.SeekGE(d.key)
		}
		d.valid = d.valid && bytes.HasPrefix(d.it.Key(), d.base)
	}
	return false
}
