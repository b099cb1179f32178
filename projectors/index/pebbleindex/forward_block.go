package pebbleindex

import (
	"encoding/binary"
	"fmt"

	"github.com/annals-memory/annals/projectors/index"
)

// A block of forward rows is a byte that names the format, the set of its places, and the fields of its rows in columns, so
// that a condition of a filter looks at nothing but the field it is about. After the columns come the places at which the
// tails of the rows end, and the tails. Numbers are little endian.
const (
	blockFormat = 4

	offPlaces  = 1
	offColumns = offPlaces + 8*blockWords
	// rowBytes is what one row takes in all columns together.
	rowBytes = 7*8 + 2*4 + 2
)

// fixed is the part of a forward row that has the same size in all rows.
type fixed struct {
	kind      index.Kind
	trust     uint8
	length    uint32
	occurred  int64
	observed  int64
	validFrom int64
	validTo   int64
	expires   int64
	seq       uint64
	updated   uint64 // Seq of the last update, or of the document
}

// forwardView is an encoded block of forward rows, whose memory it shares. Rows are counted by rank, from zero up and
// without the places that are free.
type forwardView struct {
	set places
	n   int

	seq, updated, occurred, observed, validFrom, validTo, expires []byte // 8 bytes each
	length, end                                                   []byte // 4 bytes each
	kind, trust                                                   []byte
	tails                                                         []byte
}

// parse reads an encoded block. It checks all sizes, so that what it has passed can be read without further checks, but
// for the tails: those tail checks.
func (v *forwardView) parse(value []byte) error {
	if len(value) < offColumns || value[0] != blockFormat {
		return fmt.Errorf("read forward block: %w", index.ErrCorrupt)
	}
	for i := range v.set {
		v.set[i] = binary.LittleEndian.Uint64(value[offPlaces+8*i:])
	}
	n := v.set.count()
	value = value[offColumns:]
	if n == 0 || len(value) < n*rowBytes {
		return fmt.Errorf("read forward block: %w", index.ErrCorrupt)
	}
	v.n = n
	for _, c := range [...]*[]byte{&v.seq, &v.updated, &v.occurred, &v.observed, &v.validFrom, &v.validTo, &v.expires} {
		*c, value = value[:8*n:8*n], value[8*n:]
	}
	for _, c := range [...]*[]byte{&v.length, &v.end} {
		*c, value = value[:4*n:4*n], value[4*n:]
	}
	for _, c := range [...]*[]byte{&v.kind, &v.trust} {
		*c, value = value[:n:n], value[n:]
	}
	v.tails = value
	if v.ending(n) != len(value) {
		return fmt.Errorf("read forward block: %w", index.ErrCorrupt)
	}
	return nil
}

// ending returns where the first n tails end.
func (v *forwardView) ending(n int) int {
	if n == 0 {
		return 0
	}
	return int(u32(v.end, n-1))
}

// tail returns the tail of a row.
func (v *forwardView) tail(rank int) ([]byte, error) {
	begin, end := v.ending(rank), v.ending(rank+1)
	if begin >= end || end > len(v.tails) {
		return nil, fmt.Errorf("read forward row: %w", index.ErrCorrupt)
	}
	return v.tails[begin:end:end], nil
}

func (v *forwardView) fixed(rank int) fixed {
	return fixed{
		kind: index.Kind(v.kind[rank]), trust: v.trust[rank], length: u32(v.length, rank),
		occurred: i64(v.occurred, rank), observed: i64(v.observed, rank),
		validFrom: i64(v.validFrom, rank), validTo: i64(v.validTo, rank), expires: i64(v.expires, rank),
		seq: u64(v.seq, rank), updated: u64(v.updated, rank),
	}
}

func u32(column []byte, i int) uint32 { return binary.LittleEndian.Uint32(column[4*i:]) }

func u64(column []byte, i int) uint64 { return binary.LittleEndian.Uint64(column[8*i:]) }

func i64(column []byte, i int) int64 { return int64(u64(column, i)) } //nolint:gosec // the bits are kept

// forwardBlock holds forward rows by their place for a change; nil means none.
type forwardBlock [blockRows]*forwardRow

// forwardRow is a forward row whose tail is not decoded.
type forwardRow struct {
	fixed

	tail []byte
}

// parse reads an encoded block. The tails share the memory of value.
func (b *forwardBlock) parse(value []byte) error {
	var v forwardView
	if err := v.parse(value); err != nil {
		return err
	}
	rows := make([]forwardRow, v.n)
	next := 0
	for place := range b {
		if !v.set.has(uint32(place)) {
			continue
		}
		tail, err := v.tail(next)
		if err != nil {
			return err
		}
		rows[next] = forwardRow{fixed: v.fixed(next), tail: tail}
		b[place] = &rows[next]
		next++
	}
	return nil
}

// append appends the encoded block, or nothing when no row is left.
func (b *forwardBlock) append(to []byte) []byte {
	var set places
	rows := make([]*forwardRow, 0, blockRows)
	for place, r := range b {
		if r != nil {
			set.add(uint32(place))
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return to
	}
	to = append(to, blockFormat)
	for _, w := range set {
		to = binary.LittleEndian.AppendUint64(to, w)
	}
	to = appendColumns(to, rows)
	for _, r := range rows {
		to = append(to, r.tail...)
	}
	return to
}

func appendColumns(to []byte, rows []*forwardRow) []byte {
	for _, field := range [...]func(r *forwardRow) uint64{
		func(r *forwardRow) uint64 { return r.seq },
		func(r *forwardRow) uint64 { return r.updated },
		func(r *forwardRow) uint64 { return uint64(r.occurred) },  //nolint:gosec // the bits are kept
		func(r *forwardRow) uint64 { return uint64(r.observed) },  //nolint:gosec // the bits are kept
		func(r *forwardRow) uint64 { return uint64(r.validFrom) }, //nolint:gosec // the bits are kept
		func(r *forwardRow) uint64 { return uint64(r.validTo) },   //nolint:gosec // the bits are kept
		func(r *forwardRow) uint64 { return uint64(r.expires) },   //nolint:gosec // the bits are kept
	} {
		for _, r := range rows {
			to = binary.LittleEndian.AppendUint64(to, field(r))
		}
	}
	for _, r := range rows {
		to = binary.LittleEndian.AppendUint32(to, r.length)
	}
	end := 0
	for _, r := range rows {
		end += len(r.tail)
		to = binary.LittleEndian.AppendUint32(to, uint32(end)) //nolint:gosec // a tail is far below 64 MiB
	}
	for _, r := range rows {
		to = append(to, byte(r.kind))
	}
	for _, r := range rows {
		to = append(to, r.trust)
	}
	return to
}
