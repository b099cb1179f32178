package tombstones_test

import (
	"testing"

	"github.com/annals-memory/annals/internal/nodetest"
)

// Short names of what the tests of this folder say in nearly every line.
var (
	must    = nodetest.Must
	user    = nodetest.User
	episode = nodetest.Episode
	fact    = nodetest.Fact
	day     = nodetest.Day
	at      = nodetest.At
	newID   = nodetest.NewID
	name    = nodetest.Name
)

// node is a node that forgets.
type node struct{ *nodetest.Node }

func start(tb testing.TB, o nodetest.Options) *node {
	tb.Helper()
	return &node{nodetest.Start(tb, o)}
}

// inMemory is a node on the reference log.
func inMemory(tb testing.TB) *node {
	tb.Helper()
	return start(tb, nodetest.Options{})
}

// onNATS is a node on an embedded server, with the clock of the server.
func onNATS(tb testing.TB) *node {
	tb.Helper()
	return start(tb, nodetest.Options{}.NATS(tb))
}
