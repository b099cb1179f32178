package projectors

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// encoder appends values in a form that is the same for equal values. A row is read back in the order it was written in.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }

func (e *encoder) int(v int64) { e.b = binary.AppendVarint(e.b, v) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

func (e *encoder) float(v float64) {
	e.b = binary.BigEndian.AppendUint64(e.b, math.Float64bits(v))
}

func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	e.b = append(e.b, s...)
}

// bytes keeps nil and empty apart no more than JSON does.
func (e *encoder) bytes(p []byte) {
	e.uint(uint64(len(p)))
	e.b = append(e.b, p...)
}

func (e *encoder) strings(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

// time keeps the instant to the nanosecond; the location is lost.
func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.b = append(e.b, 0)
		return
	}
	e.b = append(e.b, 1)
	e.int(t.Unix())
	e.uint(uint64(t.Nanosecond())) //nolint:gosec // nanoseconds are never negative.
}

// decoder reads what an encoder wrote. After the first error it yields zero values; err tells.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) fail() { d.b, d.bad = nil, true }

// err is ErrCorrupt if anything was missing, or if something is left over.
func (d *decoder) err() error {
	if d.bad || len(d.b) > 0 {
		return fmt.Errorf("decode row: %w", ErrCorrupt)
	}
	return nil
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail()
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) bool() bool { return d.byte() == 1 }

func (d *decoder) float() float64 {
	if len(d.b) < 8 {
		d.fail()
		return 0
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(d.b))
	d.b = d.b[8:]
	return v
}

func (d *decoder) take() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return nil
	}
	p := d.b[:n:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) string() string { return string(d.take()) }

// bytes returns a copy, nil if there are none.
func (d *decoder) bytes() []byte { return append([]byte(nil), d.take()...) }

// count reads the length of a list whose elements take a byte or more each.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail()
		return 0
	}
	return int(n) //nolint:gosec // at most the length of a slice.
}

func (d *decoder) strings() []string {
	n := d.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func (d *decoder) time() time.Time {
	if d.byte() == 0 {
		return time.Time{}
	}
	sec := d.int()
	nsec := d.uint()
	return time.Unix(sec, int64(nsec)).UTC() //nolint:gosec // below a thousand million when written.
}
