package guard_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/annals-memory/annals/producers/guard"
)

// TestLinear has texts of which one is eight times as long as the other: eight
// times the time is expected, 64 times would be its square. The time is the
// thread's own, so that a busy machine does not matter.
func TestLinear(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := guard.Default()
	const size, factor = 4 << 10, 8
	short, long := hard(size), hard(size*factor)
	for _, name := range slices.Sorted(maps.Keys(short)) {
		a, b := fastest(t, s, short[name]), fastest(t, s, long[name])
		if b > a*factor*3 {
			t.Errorf("%s: %v for %d bytes, %v for %d", name, a, size, b, size*factor)
		}
	}
}

func fastest(t *testing.T, s *guard.Scanner, text string) time.Duration {
	t.Helper()
	best := time.Hour
	for range 3 {
		start := spent(t)
		s.Scan(text)
		best = min(best, spent(t)-start)
	}
	return best
}

// spent is the time that this thread was running.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano())
}
