package producers

import (
	"time"

	"github.com/annals-memory/annals/events"
)

// earlierEnd is the earlier of two ends, where zero is never.
func earlierEnd(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// intersect is the common part of two intervals, if there is one.
func intersect(a, b events.Interval) (events.Interval, bool) {
	out := events.Interval{From: a.From, To: earlierEnd(a.To, b.To)}
	if b.From.After(out.From) {
		out.From = b.From
	}
	if !out.To.IsZero() && !out.From.Before(out.To) {
		return events.Interval{}, false
	}
	return out, true
}

// subtract takes cut out of disjoint, ascending intervals.
func subtract(from []events.Interval, cut events.Interval) []events.Interval {
	out := make([]events.Interval, 0, len(from)+1)
	for _, iv := range from {
		if _, ok := intersect(iv, cut); !ok {
			out = append(out, iv)
			continue
		}
		if iv.From.Before(cut.From) {
			out = append(out, events.Interval{From: iv.From, To: cut.From})
		}
		if !cut.To.IsZero() && (iv.To.IsZero() || cut.To.Before(iv.To)) {
			out = append(out, events.Interval{From: cut.To, To: iv.To})
		}
	}
	return out
}

// endAt is what is left of intervals that end at t at the latest.
func endAt(from []events.Interval, t time.Time) []events.Interval {
	return subtract(from, events.Interval{From: t})
}

func sameInterval(a, b events.Interval) bool { return a.From.Equal(b.From) && a.To.Equal(b.To) }
