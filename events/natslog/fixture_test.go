package natslog_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/annals-memory/annals/events/natslog"
)

func mustStart(tb testing.TB, o natslog.Options) (*natslog.Server, *nats.Conn) {
	tb.Helper()
	if o.Dir == "" {
		o.Dir = tb.TempDir()
	}
	srv, err := natslog.StartServer(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	nc, err := srv.Connect(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(nc.Close)
	return srv, nc
}

func mustOpen(tb testing.TB, nc *nats.Conn, c natslog.Config) *natslog.Streams {
	tb.Helper()
	c.CreateStreams = true
	streams, err := natslog.Open(tb.Context(), nc, c)
	if err != nil {
		tb.Fatal(err)
	}
	return streams
}

// fresh is a new embedded server's streams.
func fresh(tb testing.TB, d natslog.Durability) *natslog.Streams {
	tb.Helper()
	_, nc := mustStart(tb, natslog.Options{Durability: d})
	return mustOpen(tb, nc, natslog.Config{})
}
