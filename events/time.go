package events

import (
	"bytes"
	"fmt"
	"time"
)

// Time is an instant as requests and answers write it: RFC 3339 with an
// offset on input, UTC on output, to the microsecond.
type Time struct { //nolint:recvcheck // Or has a meaning for nil, writing has none
	time.Time
}

// At is t as a Time.
func At(t time.Time) Time { return Time{Micro(t)} }

// AtOrNil is t as a Time, nil for the zero time.
func AtOrNil(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	at := At(t)
	return &at
}

// Or is t, or fallback where t is nil.
func (t *Time) Or(fallback time.Time) time.Time {
	if t == nil {
		return fallback
	}
	return t.Time
}

// UnmarshalText reads an RFC 3339 time. The offset is required: a time
// without one is another instant in every place. The instant is kept, the
// offset is not.
func (t *Time) UnmarshalText(b []byte) error {
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil || !strict(b) || v.UTC().Year() < 1 || v.UTC().Year() > 9999 {
		return fmt.Errorf("%w: want RFC 3339 with an offset", ErrBadTime)
	}
	t.Time = Micro(v)
	return nil
}

// strict reports whether b, which time.Parse has taken, is RFC 3339 in the
// points where that is lenient: an hour of one digit, a comma before the
// fraction, an offset of a day or more.
func strict(b []byte) bool {
	if b[13] != ':' || bytes.IndexByte(b, ',') >= 0 {
		return false
	}
	offset := string(b[len(b)-6:])
	return b[len(b)-1] == 'Z' || offset[1:3] < "24" && offset[4:] < "60"
}

// MarshalText writes the instant in UTC.
func (t Time) MarshalText() ([]byte, error) {
	return t.Time.UTC().AppendFormat(nil, time.RFC3339Nano), nil
}

// UnmarshalJSON is UnmarshalText of a JSON string.
func (t *Time) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("%w: want a string", ErrBadTime)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// MarshalJSON is MarshalText as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) {
	out := append([]byte{'"'}, t.Time.UTC().AppendFormat(nil, time.RFC3339Nano)...)
	return append(out, '"'), nil
}
