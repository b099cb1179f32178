package node_test

import (
	"os"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server/ats"

	"github.com/annals-memory/annals/producers/embed"
	"github.com/annals-memory/annals/producers/embed/uselite"
)

func TestMain(m *testing.M) {
	// All servers of a process share one clock, which the first of them starts and
	// the last one stops: neither may be one in a bubble of testing/synctest.
	ats.Register()
	os.Exit(m.Run())
}

// builtIn is the built-in model. To read it takes seconds with the race detector.
var builtIn = sync.OnceValues(func() (embed.Embedder, error) { return uselite.New() })

func model(t *testing.T) embed.Embedder {
	t.Helper()
	m, err := builtIn()
	if err != nil {
		t.Fatal(err)
	}
	return m
}
