package retention

import "time"

// End is when the period that began at start is over; ok is false if it is for
// ever.
func (p Period) End(start time.Time) (end time.Time, ok bool) {
	if p.unit == 'k' {
		return time.Time{}, false
	}
	return p.end(start), true
}
