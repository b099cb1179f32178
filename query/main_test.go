package query_test

import (
	"os"
	"testing"

	"github.com/nats-io/nats-server/v2/server/ats"
)

func TestMain(m *testing.M) {
	// All servers of a process share one clock, which the first of them starts and
	// the last one stops: neither may be one in a bubble of testing/synctest.
	ats.Register()
	os.Exit(m.Run())
}
