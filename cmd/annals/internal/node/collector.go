package node

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// The collector of a server. With the default of the runtime a heap of 50 MB is
// collected after every 50 MB of garbage, and a collection keeps two cores busy
// for some 30 ms, in which reads that take 0.2 ms wait for a core: it was these
// that stood behind the 99th percentile, not the store. So garbage is let grow
// to a fixed amount, however small what is alive is, up to a share of the
// machine. Where more is alive than that, the default holds, so that the heap
// never is more than twice what is alive or that amount above it. The block
// cache of the views is on the same heap.
const (
	garbageAllowed  = 512 << 20
	garbageShare    = 8 // of the memory there is, the part that garbage may take
	defaultPercent  = 100
	highestPercent  = 800
	collectorPeriod = 5 * time.Second
)

// TendCollector sets how much garbage may gather before the runtime collects it,
// by what is alive, until the context ends. It is for a process that serves
// reads, of which it is a setting as a whole. If the environment sets GOGC or
// GOMEMLIMIT it returns at once: the operator has decided.
func TendCollector(ctx context.Context) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	allowed := uint64(garbageAllowed)
	if memory, ok := memoryThereIs(); ok {
		allowed = min(allowed, memory/garbageShare)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(defaultPercent))
	tick := time.NewTicker(collectorPeriod)
	defer tick.Stop()
	for set := defaultPercent; ; {
		if want := collectorPercent(liveHeap(), allowed); want != set {
			debug.SetGCPercent(want)
			set = want
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// collectorPercent is how much garbage may gather, in percent of what is alive.
// It moves in steps of ten, for every change stops the world.
func collectorPercent(live, allowed uint64) int {
	percent := allowed * 100 / max(live, 1)
	percent = min(max(percent, defaultPercent), highestPercent)
	return int(percent / 10 * 10)
}

// liveHeap is what the last collection found alive, in bytes.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// memoryThereIs is what the process may use, in bytes, as far as Linux tells.
func memoryThereIs() (memory uint64, ok bool) {
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		memory, ok = memTotal(string(info))
	}
	limit, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return memory, ok
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64)
	if err != nil || n == 0 || ok && n > memory { // "max" is no number
		return memory, ok
	}
	return n, true
}

func memTotal(info string) (uint64, bool) {
	for line := range strings.Lines(info) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemTotal:" {
			kib, err := strconv.ParseUint(f[1], 10, 64)
			return kib << 10, err == nil && kib > 0
		}
	}
	return 0, false
}
