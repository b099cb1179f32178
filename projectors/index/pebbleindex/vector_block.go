package pebbleindex

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/annals-memory/annals/projectors/index"
)

const (
	wordBytes   = 8 // of the set of places
	scalarBytes = 4 // of each of the three numbers beside a row
)

// vectorView is an encoded block of int8 rows, whose memory it shares: the set of places, the rows, and then the scales, the
// bounds of the errors and those of the norms as float32 in columns. All numbers are little endian. Rows are counted by rank.
//
// The columns come last because they are needed last: going over the rows brings what follows them near.
type vectorView struct {
	set    uint64
	dim    int
	rows   []byte
	scales []byte
	errors []byte
	norms  []byte
}

func (v *vectorView) parse(value []byte) error {
	if len(value) < wordBytes {
		return fmt.Errorf("read vector block: %w", index.ErrCorrupt)
	}
	v.set = binary.LittleEndian.Uint64(value)
	n := bits.OnesCount64(v.set)
	value = value[wordBytes:]
	if n == 0 || len(value)%n != 0 || len(value)/n <= 3*scalarBytes {
		return fmt.Errorf("read vector block: %w", index.ErrCorrupt)
	}
	v.dim = len(value)/n - 3*scalarBytes
	v.rows, value = value[:n*v.dim:n*v.dim], value[n*v.dim:]
	size := n * scalarBytes
	v.scales, v.errors, v.norms = value[:size:size], value[size:2*size:2*size], value[2*size:]
	return nil
}

// int8Row is a vector rounded to int8.
type int8Row struct {
	scale, err, norm float32
	values           []byte
}

// vectorBlock holds int8 rows by their place for a change; nil means none.
type vectorBlock [vectorRows]*int8Row

// parse reads an encoded block. The rows share the memory of value.
func (b *vectorBlock) parse(value []byte) error {
	var v vectorView
	if err := v.parse(value); err != nil {
		return err
	}
	rows := make([]int8Row, bits.OnesCount64(v.set))
	for i, set := 0, v.set; set != 0; i, set = i+1, set&(set-1) {
		rows[i] = int8Row{
			scale: f32(v.scales, i), err: f32(v.errors, i), norm: f32(v.norms, i),
			values: v.rows[i*v.dim : (i+1)*v.dim : (i+1)*v.dim],
		}
		b[bits.TrailingZeros64(set)] = &rows[i]
	}
	return nil
}

// append appends the encoded block, or nothing when no row is left.
func (b *vectorBlock) append(to []byte) []byte {
	var set uint64
	rows := make([]*int8Row, 0, vectorRows)
	for place, r := range b {
		if r != nil {
			set |= 1 << place
			rows = append(rows, r)
		}
	}
	if set == 0 {
		return to
	}
	to = binary.LittleEndian.AppendUint64(to, set)
	for _, r := range rows {
		to = append(to, r.values...)
	}
	for _, r := range rows {
		to = appendFloat(to, r.scale)
	}
	for _, r := range rows {
		to = appendFloat(to, r.err)
	}
	for _, r := range rows {
		to = appendFloat(to, r.norm)
	}
	return to
}
