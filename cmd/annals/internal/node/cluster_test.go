//go:build !race

package node_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// members is how many servers a cluster has.
const members = 3

// cluster is several servers in this process, each on a directory of its own.
type cluster struct {
	t       *testing.T
	dirs    [members]string
	clients [members]int
	routes  [members]int
	running [members]*natslog.Server
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t}
	ports := freePorts(t, 2*members)
	copy(c.clients[:], ports[:members])
	copy(c.routes[:], ports[members:])
	for i := range members {
		c.dirs[i] = t.TempDir()
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range members {
			c.stop(i)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := c.try(ctx)
		if err == nil {
			return c
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("the cluster has no leader: %v", err)
		}
	}
}

// try makes the streams. A request that nobody leads is not answered at all, so it
// is short.
func (c *cluster) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	nc, err := natslog.Connect(ctx, c.url(), natslog.ConnectOptions{})
	if err != nil {
		return err
	}
	defer nc.Close()
	_, err = natslog.Open(ctx, nc, natslog.Config{CreateStreams: true, Replicas: members})
	return err
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range n {
		var lc net.ListenConfig
		l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		addr, ok := l.Addr().(*net.TCPAddr)
		if !ok {
			t.Fatal("not a TCP address")
		}
		ports[i] = addr.Port
	}
	return ports
}

func (c *cluster) start(i int) {
	c.t.Helper()
	var routes []*url.URL
	for _, p := range c.routes {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
	}
	srv, err := natslog.StartServer(context.Background(), natslog.Options{
		Dir: c.dirs[i], Durability: natslog.DurabilityProcess, Listen: fmt.Sprintf("127.0.0.1:%d", c.clients[i]),
		ServerName: fmt.Sprintf("n%d", i),
		Configure: func(o *server.Options) {
			o.Cluster = server.ClusterOpts{Name: "annals", Host: "127.0.0.1", Port: c.routes[i]}
			o.Routes = routes
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.running[i] = srv
}

func (c *cluster) stop(i int) {
	c.t.Helper()
	if c.running[i] == nil {
		return
	}
	if err := c.running[i].Close(); err != nil {
		c.t.Error(err)
	}
	c.running[i] = nil
}

// url names all servers, so that a client finds another when its own ends.
func (c *cluster) url() string {
	var list []string
	for _, p := range c.clients {
		list = append(list, fmt.Sprintf("nats://127.0.0.1:%d", p))
	}
	return strings.Join(list, ",")
}

// holding are the files of a server with some bytes, by whether they are the
// stream's own or those of the replication.
func (c *cluster) holding(i int, b []byte) (blocks, raft []string) {
	c.t.Helper()
	err := filepath.WalkDir(c.dirs[i], func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // It has just been removed.
		}
		content, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(content, b) {
			return nil //nolint:nilerr // It has just been removed.
		}
		if strings.Contains(path, "_js_") {
			raft = append(raft, path)
		} else {
			blocks = append(blocks, path)
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return blocks, raft
}

// until waits for something.
func (c *cluster) until(what string, is func() bool) {
	c.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			c.t.Fatalf("never: %s", what)
		}
	}
}

// sealedBytes are the sealed content of an episode as they stand in the log.
func (f *fixture) sealedBytes(id string) []byte {
	f.t.Helper()
	content := []byte(base64.StdEncoding.EncodeToString(f.sealed(id)))
	m, err := f.Log().MessageAt(f.t.Context(), f.positions(events.KindEpisode, id)[0])
	if err != nil {
		f.t.Fatal(err)
	}
	if !bytes.Contains(m.Data, content) {
		f.t.Fatal("control: a message holds its content otherwise")
	}
	return content
}

// On a log that three servers keep, what was forgotten is in no block of any of
// them once the receipt says purged, which names what the replication still has.
// While one server is away nothing is purged, for it could keep what the others
// delete; what is forgotten is shredded, and is purged when that server is back.
func TestClusterForgets(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	f := openWith(t, node.Options{NATS: c.url(), Replicas: members})
	token := f.token("acme")
	gone, kept := plantCanaries(f, token, "gone"), plantCanaries(f, token, "kept")
	later := plantCanaries(f, token, "later")
	// The sealed bytes, which are there in every build.
	bytesOf := map[*person][]byte{gone: f.sealedBytes(gone.episode), kept: f.sealedBytes(kept.episode), later: f.sealedBytes(later.episode)}
	for i := range members {
		c.until("every server has everything", func() bool {
			for _, b := range bytesOf {
				if blocks, _ := c.holding(i, b); len(blocks) == 0 {
					return false
				}
			}
			return true
		})
	}
	forget := func(p *person) string {
		t.Helper()
		out := as[tombstones.Erasure](f.do(token, http.MethodPost, "/v1/subjects/"+p.subject+"/forget", obj{}, http.StatusAccepted))
		return out.ErasureID
	}
	clean := func(p *person, when string) {
		t.Helper()
		for i, srv := range c.running {
			if srv == nil {
				continue
			}
			if _, raft := c.holding(i, bytesOf[p]); len(raft) > 0 {
				t.Logf("%s: server %d still replicates from %d files that have it", when, i, len(raft))
			}
			c.until(when+": no block has it", func() bool {
				blocks, _ := c.holding(i, bytesOf[p])
				return len(blocks) == 0
			})
			if blocks, _ := c.holding(i, bytesOf[kept]); len(blocks) == 0 {
				t.Errorf("%s: control: a neighbour has left server %d", when, i)
			}
			p.gone(&fixture{t: t, dir: c.dirs[i]}, fmt.Sprintf("%s: server %d", when, i))
		}
		p.gone(f, when)
		kept.kept(f, when)
	}
	erasure := forget(gone)
	f.reaches(token, erasure, events.LevelPurged)
	clean(gone, "three servers")
	public, err := ledger.LoadVerifier(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tombstones.VerifyReceipt(f.do(token, http.MethodGet, "/v1/erasures/"+erasure+"/receipt", nil, http.StatusOK).body, public)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, s := range r.Residues {
		if named[s.Kind] = true; s.Until == nil && s.Why == "" {
			t.Errorf("neither a deadline nor why there is none: %+v", s)
		}
	}
	for _, kind := range []string{"backups", "replicas", "server_encryption", "server_killed"} {
		if !named[kind] {
			t.Errorf("the receipt does not name %s: %+v", kind, r.Residues)
		}
	}

	c.stop(0)
	c.until("writes go on", func() bool {
		a := f.call(token, http.MethodPost, "/v1/episodes", []byte(`{"subject":"`+kept.subject+`","text":"Two are left.","source":{"kind":"chat","ref":"c"}}`))
		return a.status == http.StatusCreated
	})
	f.settle()
	waits := forget(later)
	c.until("the log keeps it while a server is away", func() bool {
		s := f.erasure(token, waits)
		if s.Level.AtLeast(events.LevelPurged) {
			t.Fatal("it is purged, and the server that is away has it")
		}
		for _, store := range s.Stores {
			if store.Store == "log" && store.Failed > 0 && s.Level == events.LevelShredded {
				return true
			}
		}
		return false
	})
	for i := range members {
		if blocks, _ := c.holding(i, bytesOf[later]); len(blocks) == 0 {
			t.Errorf("server %d has deleted what another has", i)
		}
	}
	later.gone(f, "two servers")
	c.start(0)
	f.reaches(token, waits, events.LevelPurged)
	clean(gone, "three again")
	clean(later, "three again")
	f.settle()
	f.replaysAlike()
}
