package node_test

import "time"

// pass lets time pass in a bubble of testing/synctest, where that takes none.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // It is the bubble's time, which passes once everything in it waits.
}
