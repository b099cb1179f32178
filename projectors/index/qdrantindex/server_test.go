package qdrantindex_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/annals-memory/annals/internal/qdranttest"
	"github.com/annals-memory/annals/projectors/index"
	"github.com/annals-memory/annals/projectors/index/qdrantindex"
)

// raw is a client of its own to the server of a test.
func raw(tb testing.TB, address string) *qdrant.Client {
	tb.Helper()
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatalf("read address: %v", err)
	}
	port, err := strconv.Atoi(digits)
	if err != nil {
		tb.Fatalf("read port: %v", err)
	}
	c, err := qdrant.NewClient(&qdrant.Config{Host: host, Port: port, PoolSize: 1, SkipCompatibilityCheck: true})
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return c
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := qdrantindex.Config{Address: qdranttest.Address(t), Now: time.Now}
	for name, change := range map[string]func(c *qdrantindex.Config){
		"no address":   func(c *qdrantindex.Config) { c.Address = "" },
		"no port":      func(c *qdrantindex.Config) { c.Address = "localhost" },
		"no host":      func(c *qdrantindex.Config) { c.Address = ":6334" },
		"port":         func(c *qdrantindex.Config) { c.Address = "localhost:65536" },
		"key in clear": func(c *qdrantindex.Config) { c.APIKey = "secret" },
		"no clock":     func(c *qdrantindex.Config) { c.Now = nil },
	} {
		bad := good
		change(&bad)
		if _, err := qdrantindex.Open(t.Context(), bad); !errors.Is(err, qdrantindex.ErrConfig) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	open(t, good.Address)
}

// TestVersion has the server say other versions than its own.
func TestVersion(t *testing.T) {
	t.Parallel()
	address := qdranttest.Address(t)
	for version, want := range map[string]error{
		"1.19.0": nil, "1.19.3": nil, "1.20.0-dev": nil, "1.100.0": nil,
		"1.18.9": qdrantindex.ErrVersion, "0.20.0": qdrantindex.ErrVersion, "2.0.0": qdrantindex.ErrVersion,
		"": qdrantindex.ErrVersion, "1": qdrantindex.ErrVersion, "x.y": qdrantindex.ErrVersion,
	} {
		w := &wire{}
		w.set("Qdrant/HealthCheck", func(_ context.Context, _, reply any, send func() error) error {
			err := send()
			if r, ok := reply.(*qdrant.HealthCheckReply); ok {
				r.Version = version
			}
			return err
		})
		c, err := qdrantindex.Open(t.Context(), qdrantindex.Config{
			Address: address, Now: time.Now, DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(w.intercept)},
		})
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("version %q gives %v, want %v", version, err, want)
		}
		if err == nil {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	}
}

// TestWrongPort finds REST where gRPC should be.
func TestWrongPort(t *testing.T) {
	t.Parallel()
	rest := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(rest.Close)
	_, err := qdrantindex.Open(t.Context(), qdrantindex.Config{
		Address: rest.Listener.Addr().String(), Now: time.Now, Attempts: 2, Backoff: time.Millisecond, Timeout: 10 * time.Second,
	})
	if !errors.Is(err, qdrantindex.ErrUnavailable) {
		t.Errorf("open gives %v", err)
	}
}

// TestTLS talks to a server that asks for a key, through TLS.
func TestTLS(t *testing.T) {
	t.Parallel()
	s := qdranttest.StartWithKey(t, "secret")
	address, pool := terminateTLS(t, s.Address)
	cfg := qdrantindex.Config{
		Address: address, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}, APIKey: "secret", Now: time.Now,
		Attempts: 2, Backoff: time.Millisecond, Timeout: 10 * time.Second,
	}
	c, err := qdrantindex.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	wrong := cfg
	wrong.APIKey = "guess"
	refused := (*qdrantindex.CallError)(nil)
	if _, err := qdrantindex.Open(t.Context(), wrong); !errors.As(err, &refused) || refused.Code != codes.Unauthenticated {
		t.Errorf("a wrong key gives %v", err)
	}
	stranger := cfg
	stranger.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS13}
	if _, err := qdrantindex.Open(t.Context(), stranger); !errors.Is(err, qdrantindex.ErrUnavailable) {
		t.Errorf("a certificate of nobody gives %v", err)
	}
}

// terminateTLS listens with a certificate and passes on what comes.
func terminateTLS(tb testing.TB, to string) (address string, pool *x509.CertPool) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatalf("make key: %v", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatalf("make certificate: %v", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatalf("read certificate: %v", err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(leaf)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, NextProtos: []string{"h2"},
		MinVersion: tls.VersionTLS13,
	})
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { pass(in, to) })
		}
	})
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
		running.Wait()
	})
	return l.Addr().String(), pool
}

func pass(in net.Conn, to string) {
	defer func() { _ = in.Close() }() // it is over either way
	var d net.Dialer
	out, err := d.DialContext(context.Background(), "tcp", to)
	if err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(out, in) // it ends when one side does
		_ = out.Close()
	})
	_, _ = io.Copy(in, out)
	_ = in.Close()
	both.Wait()
}

// TestCheck takes away from a collection what the index needs, one thing at a time.
func TestCheck(t *testing.T) {
	t.Parallel()
	address := qdranttest.Address(t)
	b := newBackend(t, open(t, address))
	for range 2 { // making it again changes nothing
		if err := b.Create(t.Context()); err != nil {
			t.Fatalf("create: %v", err)
		}
	}
	foreign := raw(t, address)
	name := b.Name() + "-foreign"
	ix := open(t, address).Index(name)
	if err := ix.Check(t.Context()); err == nil {
		t.Error("a collection that is not there passes")
	}
	for what, create := range map[string]*qdrant.CreateCollection{
		"no payload indexes": {},
		"no words":           {},
		"points that hide":   {OptimizersConfig: &qdrant.OptimizersConfigDiff{PreventUnoptimized: new(true)}},
	} {
		create.CollectionName = name
		words := "words"
		if what == "no words" {
			words = "others"
		}
		create.SparseVectorsConfig = qdrant.NewSparseVectorsConfig(map[string]*qdrant.SparseVectorParams{words: {}})
		if err := foreign.CreateCollection(t.Context(), create); err != nil {
			t.Fatalf("%s: create: %v", what, err)
		}
		err := ix.Check(t.Context())
		if what != "no payload indexes" {
			err = ix.Create(t.Context())
		}
		if !errors.Is(err, qdrantindex.ErrSchema) {
			t.Errorf("%s: %v", what, err)
		}
		if err := ix.Drop(t.Context()); err != nil {
			t.Fatalf("%s: drop: %v", what, err)
		}
	}
	if err := ix.Drop(t.Context()); err != nil {
		t.Errorf("dropping what is not there: %v", err)
	}
	if exists, err := ix.Exists(t.Context()); exists || err != nil {
		t.Errorf("it exists: %t (%v)", exists, err)
	}
}

// TestTombstones looks at what is stored of what was removed.
func TestTombstones(t *testing.T) {
	t.Parallel()
	address := qdranttest.Address(t)
	b := newBackend(t, open(t, address))
	d, e, other := note("a", 1, 1), note("b", 2, 1), note("c", 3, 1)
	other.Subject = "else"
	if err := b.Apply(t.Context(), []index.Op{d, vectorOf(d, 1, 0), e, vectorOf(e, 1, 0), other, vectorOf(other, 1, 0)}); err != nil {
		t.Fatalf("apply: %v", err)
	}
	if err := b.Apply(t.Context(), []index.Op{
		index.Removal{Tenant: "acme", Subject: d.Subject, ID: "a"}, index.SubjectRemoval{Tenant: "acme", Subject: d.Subject},
	}); err != nil {
		t.Fatalf("remove: %v", err)
	}
	points, err := raw(t, address).Scroll(t.Context(), &qdrant.ScrollPoints{
		CollectionName: b.Name(), Limit: new(uint32(100)), WithPayload: qdrant.NewWithPayloadEnable(true),
		WithVectors: qdrant.NewWithVectorsEnable(true),
	})
	if err != nil {
		t.Fatalf("scroll: %v", err)
	}
	rows := map[string]int{}
	for _, p := range points {
		row := p.GetPayload()["row"].GetStringValue()
		rows[row]++
		if row != "dead" {
			continue
		}
		if len(p.GetPayload()) != 5 || p.GetPayload()["subject"] != nil || len(p.GetVectors().GetVectors().GetVectors()) != 0 {
			t.Errorf("a tombstone tells more than it must: %v", p)
		}
	}
	if diff := cmp.Diff(map[string]int{"mark": 1, "dead": 2, "document": 1, "model": 1}, rows); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// TestAlias switches an alias while others read through it: they see the one or the other, and no error.
func TestAlias(t *testing.T) {
	t.Parallel()
	c := open(t, qdranttest.Address(t))
	var sides [2]backend
	for i := range sides {
		ix := c.Index("alias-" + strconv.Itoa(i))
		sides[i] = backend{ix, new(atomic.Uint64)}
		if err := ix.Create(t.Context()); err != nil {
			t.Fatalf("create: %v", err)
		}
		var ops []index.Op
		for n := range i + 1 {
			ops = append(ops, note(strconv.Itoa(n), uint64(n+1), 1))
		}
		if err := sides[i].Apply(t.Context(), ops); err != nil {
			t.Fatalf("apply: %v", err)
		}
	}
	if err := sides[0].Serve(t.Context(), "current"); err != nil {
		t.Fatalf("serve: %v", err)
	}
	served := c.Index("current")
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			n, err := served.Count(t.Context(), query().Filter)
			if err != nil || (n != 1 && n != 2) {
				t.Errorf("%d documents during the switch (%v)", n, err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for i := range 10 {
		if err := sides[i%2].Serve(t.Context(), "current"); err != nil {
			t.Errorf("serve: %v", err)
		}
	}
	close(stop)
	reader.Wait()
	if err := c.Index("nowhere").Serve(t.Context(), "current"); err == nil {
		t.Error("an alias for nothing is made")
	}
	if got, err := c.Serving(t.Context(), "current"); err != nil || got != sides[1].Name() {
		t.Errorf("the alias names %q (%v)", got, err)
	}
	if got, err := c.Serving(t.Context(), "other"); err != nil || got != "" {
		t.Errorf("an alias that is not there names %q (%v)", got, err)
	}
}

// TestDepth takes the deepest condition that the contract knows, and one that the server could not read is refused.
func TestDepth(t *testing.T) {
	t.Parallel()
	b := newBackend(t, open(t, qdranttest.Address(t)))
	if err := b.Apply(t.Context(), []index.Op{note("a", 1, 1)}); err != nil {
		t.Fatalf("apply: %v", err)
	}
	deep := func(n int) index.Filter {
		// The leaf that takes most levels.
		var w index.Where = index.Not{Of: index.Within{Number: index.NumberOccurredUS, From: 1 << 40, To: 1 << 41}}
		for i := range n {
			other := index.AnyOf{Field: index.FieldLabels, Tokens: []string{"x"}}
			if i%2 == 0 {
				w = index.Or{w, other}
			} else {
				w = index.And{w, index.Not{Of: other}}
			}
		}
		return index.Filter{Tenant: "acme", Where: w}
	}
	// The leaf and its negation are two levels.
	if n, err := b.Count(t.Context(), deep(index.MaxWhereDepth-2)); err != nil || n != 1 {
		t.Errorf("%d documents pass (%v)", n, err)
	}
	if _, err := b.Count(t.Context(), deep(index.MaxWhereDepth)); !errors.Is(err, index.ErrQuery) {
		t.Errorf("a condition beyond the deepest gives %v", err)
	}
}

// TestFlushed uses a writer that has ended.
func TestFlushed(t *testing.T) {
	t.Parallel()
	b := newBackend(t, open(t, qdranttest.Address(t)))
	w := b.NewWriter()
	if wrote, err := w.Flush(t.Context(), qdrantindex.Mark{}); err != nil || wrote {
		t.Fatalf("flush: %v", err)
	}
	_, again := w.Flush(t.Context(), qdrantindex.Mark{})
	_, err := w.RemoveSubject(t.Context(), "acme", "s")
	for _, err := range []error{
		again, w.Load(t.Context(), qdrantindex.Key{Tenant: "acme", ID: "a"}), w.Put(t.Context(), note("a", 1, 1)), err,
	} {
		if !errors.Is(err, qdrantindex.ErrFlushed) {
			t.Errorf("a writer that has ended gives %v", err)
		}
	}
}

// TestManyTies has more equal scores than are read at first, so that their order is known only when all are.
func TestManyTies(t *testing.T) {
	t.Parallel()
	b := newBackend(t, open(t, qdranttest.Address(t)))
	var ops []index.Op
	for i := range 150 {
		d := note(strconv.Itoa(i), uint64(1+(i*7)%150), 1)
		ops = append(ops, d, vectorOf(d, 1, 0))
	}
	if err := b.Apply(t.Context(), ops); err != nil {
		t.Fatalf("apply: %v", err)
	}
	q := query()
	q.K = 3
	c, err := b.Candidates(t.Context(), q)
	if err != nil {
		t.Fatalf("candidates: %v", err)
	}
	for i := range 3 {
		if want := uint64(150 - i); c.Dense[i].Seq != want || c.Lexical[i].Seq != want {
			t.Errorf("place %d: versions %d and %d, want %d", i, c.Dense[i].Seq, c.Lexical[i].Seq, want)
		}
	}
}
