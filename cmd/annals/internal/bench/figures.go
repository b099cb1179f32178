package bench

import (
	"slices"
	"time"
)

// Figure is one measured value; fields that do not apply are absent.
type Figure struct {
	P50ms     float64 `json:"p50_ms,omitzero"`
	P99ms     float64 `json:"p99_ms,omitzero"`
	PerSecond float64 `json:"per_second,omitzero"`
	// Ratio is to the raw reference that Of names.
	Ratio float64 `json:"ratio,omitzero"`
	Of    string  `json:"of,omitzero"`
	Bytes float64 `json:"bytes,omitzero"`
	N     int     `json:"n,omitzero"`
}

// Report is every figure by name.
type Report map[string]Figure

// latencies makes a figure of single durations.
func latencies(d []time.Duration) Figure {
	slices.Sort(d)
	var total time.Duration
	for _, x := range d {
		total += x
	}
	return Figure{
		P50ms: ms(d[len(d)/2]), P99ms: ms(d[min(len(d)-1, len(d)*99/100)]), N: len(d),
		PerSecond: float64(len(d)) / total.Seconds(),
	}
}

// rate makes a figure of n things done in a time.
func rate(n int, d time.Duration) Figure { return Figure{PerSecond: float64(n) / d.Seconds(), N: n} }

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timed measures n calls one after another.
func timed(n int, f func(i int) error) ([]time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		start := time.Now()
		if err := f(i); err != nil {
			return nil, err
		}
		all[i] = time.Since(start)
	}
	return all, nil
}
