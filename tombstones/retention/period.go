package retention

import (
	"strconv"
	"time"
)

// maxPeriod is the largest number in a period.
const maxPeriod = 100_000

// keepWord is the period without an end, as it is written.
const keepWord = "keep"

// Period is how long something is kept. The zero value is no time at all.
type Period struct {
	n    int
	unit byte
}

// Keep is the period without an end.
func Keep() Period { return Period{unit: 'k'} }

// ParsePeriod reads a period: "keep", or a whole number above zero and h, d, m or
// y. ok is false for anything else.
func ParsePeriod(s string) (p Period, ok bool) {
	if s == keepWord {
		return Keep(), true
	}
	if len(s) < 2 || s[0] < '1' || s[0] > '9' {
		return Period{}, false
	}
	unit := s[len(s)-1]
	n, err := strconv.Atoi(s[:len(s)-1])
	if err != nil || n > maxPeriod {
		return Period{}, false
	}
	switch unit {
	case 'h', 'd', 'm', 'y':
		return Period{n: n, unit: unit}, true
	}
	return Period{}, false
}

// String is the period as it is written; "0h" for no time.
func (p Period) String() string {
	switch p.unit {
	case 'k':
		return keepWord
	case 0:
		return "0h"
	}
	return strconv.Itoa(p.n) + string(p.unit)
}

// Over reports whether the period that began at start is over at a time, which it
// is at its very end.
func (p Period) Over(start, at time.Time) bool {
	return p.unit != 'k' && !p.end(start).After(at)
}

// end is when a period that is not for ever ends.
func (p Period) end(start time.Time) time.Time {
	start = start.UTC()
	switch p.unit {
	case 'h':
		return start.Add(time.Duration(p.n) * time.Hour)
	case 'd':
		return start.Add(time.Duration(p.n) * 24 * time.Hour)
	case 'm':
		return addMonths(start, p.n)
	case 'y':
		return addMonths(start, 12*p.n)
	}
	return start
}

// addMonths stays in the month that it leads to: time.AddDate does not.
func addMonths(t time.Time, n int) time.Time {
	moved := t.AddDate(0, n, 0)
	if moved.Day() != t.Day() {
		moved = moved.AddDate(0, 0, -moved.Day())
	}
	return moved
}
