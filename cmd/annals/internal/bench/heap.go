package bench

import (
	"runtime"
	"time"
)

// watchHeap samples the Go heap in use until the returned function is called,
// which returns the highest sample. The store's block cache is outside of it.
func watchHeap() (peak func() uint64) {
	runtime.GC()
	stop, done := make(chan struct{}), make(chan uint64, 1)
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		var highest uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			highest = max(highest, m.HeapInuse)
			select {
			case <-stop:
				done <- highest
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-done
	}
}
