package natslog_test

import (
	"os"
	"testing"

	"github.com/nats-io/nats-server/v2/server/ats"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		appendUntilKilled(dir, os.Getenv(crashRound))
		return
	}
	// All servers of a process share one clock, which the first of them starts and
	// the last one stops: neither may be one in a bubble of testing/synctest.
	ats.Register()
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}
