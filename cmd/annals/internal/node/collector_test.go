package node

import "testing"

func TestCollectorPercent(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	for name, tc := range map[string]struct {
		live, allowed uint64
		want          int
	}{
		"nothing known yet":     {0, 512 * mb, 800},
		"little is alive":       {10 * mb, 512 * mb, 800},
		"a node at work":        {128 * mb, 512 * mb, 400},
		"as much as is allowed": {512 * mb, 512 * mb, 100},
		"more than is allowed":  {2048 * mb, 512 * mb, 100},
		"a small machine":       {64 * mb, 128 * mb, 200},
		"steps":                 {100 * mb, 333 * mb, 330},
	} {
		if got := collectorPercent(tc.live, tc.allowed); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestMemTotal(t *testing.T) {
	t.Parallel()
	if got, ok := memTotal("MemFree: 1 kB\nMemTotal:       2048 kB\n"); !ok || got != 2<<20 {
		t.Errorf("%d, %v", got, ok)
	}
	for _, bad := range []string{"", "MemTotal: kB", "MemTotal: x kB", "MemTotal: 0 kB"} {
		if got, ok := memTotal(bad); ok {
			t.Errorf("%q: %d", bad, got)
		}
	}
}
