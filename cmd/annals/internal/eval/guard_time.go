package eval

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/annals-memory/annals/producers/guard"
)

// timedText is the length of the texts that are timed, in bytes: the time of a
// scan is linear in it, so that times of texts of any length would say little.
const timedText = 4 << 10

// timedScans is how often a text is scanned; the fastest counts, since what
// else runs on the machine is no part of it.
const timedScans = 3

// timing collects how long scans take.
type timing struct {
	scanner *guard.Scanner
	now     func() time.Time
	took    []time.Duration
}

// add times a text that is cut, or repeated, to a length of 4 KB. One that is
// empty is not timed.
func (t *timing) add(text string) {
	if text == "" {
		return
	}
	text = fill(text)
	best := time.Duration(-1)
	for range timedScans {
		start := t.now()
		t.scanner.Scan(text)
		if d := t.now().Sub(start); best < 0 || d < best {
			best = d
		}
	}
	t.took = append(t.took, best)
}

// quantiles are the median and the 99th percentile, in microseconds, or zero if
// nothing was timed.
func (t *timing) quantiles() (median, p99 float64) {
	n := len(t.took)
	if n == 0 {
		return 0, 0
	}
	slices.Sort(t.took)
	return float64(t.took[n/2].Nanoseconds()) / 1e3, float64(t.took[n*99/100].Nanoseconds()) / 1e3
}

// fill repeats a text that is shorter than 4 KB, with a line for each, and cuts
// it at the last whole character within them.
func fill(text string) string {
	if len(text) < timedText {
		text = strings.Repeat(text+"\n", timedText/(len(text)+1)+1)
	}
	n := min(timedText, len(text))
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
