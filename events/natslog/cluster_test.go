package natslog_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

const replicas = 3

// cluster is three servers in this process, and a connection to each.
type cluster struct {
	conns []*nats.Conn
}

func startCluster(tb testing.TB, d natslog.Durability) *cluster {
	tb.Helper()
	ports := freePorts(tb, replicas)
	routes := make([]*url.URL, replicas)
	for i, p := range ports {
		routes[i] = &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)}
	}
	c := &cluster{}
	for i := range replicas {
		srv, err := natslog.StartServer(tb.Context(), natslog.Options{
			Dir: tb.TempDir(), Durability: d, Listen: "127.0.0.1:0", ServerName: fmt.Sprintf("n%d", i),
			Configure: func(o *server.Options) {
				o.Cluster = server.ClusterOpts{Name: "annals", Host: "127.0.0.1", Port: ports[i]}
				o.Routes = routes
			},
		})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() {
			if err := srv.Close(); err != nil {
				tb.Error(err)
			}
		})
		nc, err := natslog.Connect(tb.Context(), srv.URL(), natslog.ConnectOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(nc.Close)
		c.conns = append(c.conns, nc)
	}
	return c
}

func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	ports := make([]int, n)
	for i := range n {
		var lc net.ListenConfig
		l, err := lc.Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			tb.Fatal("not a TCP address")
		}
		ports[i] = addr.Port
	}
	return ports
}

// open waits for the cluster to have a leader, deletes the streams to be empty,
// and opens them on one of its nodes.
func (c *cluster) open(tb testing.TB, node int, empty ...string) *natslog.Streams {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		streams, err := c.try(ctx, node, empty)
		if err == nil {
			return streams
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			tb.Fatalf("the cluster has no leader: %v", err)
		}
	}
}

// try is one attempt. A request that nobody leads is not answered at all, so
// it is short.
func (c *cluster) try(ctx context.Context, node int, empty []string) (*natslog.Streams, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	js, err := jetstream.New(c.conns[node])
	if err != nil {
		return nil, err
	}
	for _, name := range empty {
		if err := js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil, err
		}
	}
	return natslog.Open(ctx, c.conns[node], natslog.Config{CreateStreams: true, Replicas: replicas})
}

func TestContractReplicated(t *testing.T) {
	t.Parallel()
	c := startCluster(t, natslog.DurabilityProcess)
	node := 0
	logtest.Run(t, func(t *testing.T) events.Log {
		t.Helper()
		node++
		return c.open(t, node%replicas, "EVENTS").Log()
	})
	t.Run("rows", func(t *testing.T) {
		t.Parallel()
		testReplicatedRows(t, c)
	})
}

// testReplicatedRows writes on one node and reads on another.
func testReplicatedRows(t *testing.T, c *cluster) {
	t.Helper()
	ctx := t.Context()
	writer := c.open(t, 0).Keys()
	streams, err := natslog.Open(ctx, c.conns[1], natslog.Config{Replicas: replicas})
	if err != nil {
		t.Fatal(err)
	}
	reader := streams.Keys()
	for i := range 10 {
		rows := make([]seal.Row, 5)
		keys := make([]string, len(rows))
		for j := range rows {
			keys[j] = fmt.Sprintf("k3.t.%d-%d", i, j)
			rows[j] = seal.Row{Key: keys[j], Value: []byte("value")}
		}
		if err := writer.Create(ctx, rows...); err != nil {
			t.Fatal(err)
		}
		got, err := reader.GetMany(ctx, keys)
		if err != nil || len(got) != len(rows) {
			t.Fatalf("%d of %d rows right after their creation, %v", len(got), len(rows), err)
		}
		revision, err := writer.Put(ctx, seal.Row{Key: keys[0], Value: []byte("other"), Revision: got[keys[0]].Revision})
		if err != nil {
			t.Fatal(err)
		}
		if row, err := reader.Get(ctx, keys[0]); err != nil || row.Revision != revision || string(row.Value) != "other" {
			t.Fatalf("an old row right after it was overwritten, %v", err)
		}
		if err := writer.Destroy(ctx, keys[1]); err != nil {
			t.Fatal(err)
		}
		listed := 0
		for _, err := range reader.List(ctx, "k3.t") {
			if err != nil {
				t.Fatal(err)
			}
			listed++
		}
		if got, err = reader.GetMany(ctx, keys); err != nil || len(got) != 4 || listed != 4*(i+1) {
			t.Fatalf("%d rows and %d listed right after a destruction, %v", len(got), listed, err)
		}
	}
}
