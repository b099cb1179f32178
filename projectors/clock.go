package projectors

import (
	"encoding/binary"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// clockBlock is the number of messages in one row of the clock.
const clockBlock = 256

// clock keeps when each position was recorded: a row for each stretch of positions, keyed by its first time, with the
// differences from one message to the next. Times are made not to go back.
type clock struct {
	first   stamp   // of the row that is being filled
	last    stamp   // of the row that is being filled
	row     []byte  // its differences
	count   int     // its messages
	dirty   bool    // it has some that are not in the batch
	waiting []stamp // of messages that are not passed yet
}

// clockKey orders times before 1970 too.
func clockKey(at int64, position uint64) key {
	k := key(binary.BigEndian.AppendUint64(newKey(sortClock), uint64(at)^(1<<63))) //nolint:gosec // bits are wanted.
	return k.position(position)
}

func parseClockKey(k []byte) (stamp, bool) {
	if len(k) != 1+8+positionLen {
		return stamp{}, false
	}
	at := int64(binary.BigEndian.Uint64(k[1:]) ^ (1 << 63)) //nolint:gosec // bits are wanted.
	return stamp{at: at, position: binary.BigEndian.Uint64(k[9:])}, true
}

// load goes on where the last row ended.
func (c *clock) load(r pebble.Reader) (err error) {
	it, err := r.NewIter(under([]byte{sortClock}))
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it opens.
	}
	defer closeInto(it, &err)
	if !it.Last() {
		return it.Error() //nolint:wrapcheck // the caller says what it opens.
	}
	first, ok := parseClockKey(it.Key())
	if !ok {
		return errRow(sortClock)
	}
	c.first, c.last, c.count = first, first, 1
	c.row = append(c.row, it.Value()...)
	return walkClock(first, it.Value(), func(s stamp) bool {
		c.last = s
		c.count++
		return true
	})
}

// walkClock hands the stamps of a row after its first to use until that returns false.
func walkClock(first stamp, row []byte, use func(stamp) bool) error {
	s := first
	d := decoder{b: row}
	for len(d.b) > 0 {
		s.position += d.uint()
		s.at += int64(d.uint()) //nolint:gosec // written from a difference of times.
		if d.bad {
			return errRow(sortClock)
		}
		if !use(s) {
			return nil
		}
	}
	return nil
}

func (c *clock) add(list []stamp) { c.waiting = append(c.waiting, list...) }

// flush writes the stamps up to the position of the batch.
func (c *clock) flush(e *engine) error {
	n := 0
	for ; n < len(c.waiting) && c.waiting[n].position <= e.state.position; n++ {
		if err := c.push(e, c.waiting[n]); err != nil {
			return err
		}
	}
	c.waiting = c.waiting[:copy(c.waiting, c.waiting[n:])]
	return c.write(e)
}

func (c *clock) push(e *engine, s stamp) error {
	if c.count > 0 && s.position <= c.last.position {
		return nil
	}
	if c.count == clockBlock {
		if err := c.write(e); err != nil {
			return err
		}
		s.at = max(s.at, c.last.at)
		c.count = 0
	}
	c.dirty = true
	c.count++
	if c.count == 1 {
		c.first, c.last, c.row = s, s, c.row[:0]
		return nil
	}
	s.at = max(s.at, c.last.at)
	c.row = binary.AppendUvarint(c.row, s.position-c.last.position)
	c.row = binary.AppendUvarint(c.row, uint64(s.at-c.last.at)) //nolint:gosec // not negative.
	c.last = s
	return nil
}

func (c *clock) write(e *engine) error {
	if !c.dirty {
		return nil
	}
	c.dirty = false
	return e.set(clockKey(c.first.at, c.first.position), c.row)
}

// positionAt returns the last position recorded at or before a time.
func positionAt(r pebble.Reader, at int64) (position uint64, err error) {
	it, err := r.NewIter(under([]byte{sortClock}))
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller says what it reads.
	}
	defer closeInto(it, &err)
	if !it.SeekLT(clockKey(at, math.MaxUint64)) {
		return 0, it.Error() //nolint:wrapcheck // the caller says what it reads.
	}
	first, ok := parseClockKey(it.Key())
	if !ok {
		return 0, errRow(sortClock)
	}
	position = first.position
	return position, walkClock(first, it.Value(), func(s stamp) bool {
		if s.at > at {
			return false
		}
		position = s.position
		return true
	})
}
