package nodetest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/annals-memory/annals/events/natslog"
)

// Main runs the tests beside a server that nobody uses. All servers of a process share
// one clock, which the first of them starts and the last one stops: neither may be one
// in a bubble of testing/synctest, which would wait for the clock for ever.
func Main(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "annals-clock-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	srv, err := natslog.StartServer(context.Background(), natslog.Options{Dir: dir, Durability: natslog.DurabilityProcess})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code = m.Run()
	if err := srv.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
