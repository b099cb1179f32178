package natslog_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/logtest"
	"github.com/annals-memory/annals/events/natslog"
	"github.com/annals-memory/annals/events/seal"
)

func TestStartErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	for name, c := range map[string]struct {
		options natslog.Options
		want    error
	}{
		"no directory":        {natslog.Options{}, natslog.ErrBadDirectory},
		"a file":              {natslog.Options{Dir: file}, natslog.ErrBadDirectory},
		"below a file":        {natslog.Options{Dir: filepath.Join(file, "x")}, natslog.ErrBadDirectory},
		"no port":             {natslog.Options{Dir: t.TempDir(), Listen: "localhost"}, natslog.ErrServerFailed},
		"a bad port":          {natslog.Options{Dir: t.TempDir(), Listen: "localhost:x"}, natslog.ErrServerFailed},
		"a port that is used": {natslog.Options{Dir: t.TempDir(), Listen: taken.Addr().String()}, natslog.ErrServerFailed},
		"all interfaces":      {natslog.Options{Dir: t.TempDir(), Listen: "0.0.0.0:0"}, natslog.ErrUnsafeListen},
		"every interface":     {natslog.Options{Dir: t.TempDir(), Listen: ":0"}, natslog.ErrUnsafeListen},
		"encryption": {natslog.Options{Dir: t.TempDir(), Configure: func(o *server.Options) {
			o.JetStreamKey = "key"
		}}, natslog.ErrEncryptedStore},
		"no time": {natslog.Options{Dir: t.TempDir(), ReadyTimeout: time.Nanosecond}, natslog.ErrNotReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := natslog.StartServer(t.Context(), c.options)
			if err == nil {
				_ = srv.Close()
			}
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestListenWithAuthentication(t *testing.T) {
	t.Parallel()
	srv, err := natslog.StartServer(t.Context(), natslog.Options{
		Dir: t.TempDir(), Listen: "0.0.0.0:0",
		Configure: func(o *server.Options) { o.Username, o.Password = "u", "p" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	if _, err := natslog.Connect(t.Context(), srv.URL(), natslog.ConnectOptions{}); !errors.Is(err, events.ErrUnavailable) {
		t.Fatalf("without a password: %v", err)
	}
	nc, err := natslog.Connect(t.Context(), srv.URL(), natslog.ConnectOptions{NATS: []nats.Option{nats.UserInfo("u", "p")}})
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestOneServerADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir}); !errors.Is(err, natslog.ErrDirectoryInUse) {
		t.Fatalf("a second server: %v", err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	second, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir})
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// The server cannot make its directory, and says so with a path that must not
// reach the log.
func TestServerLogHasNoValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jetstream"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir, Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if !errors.Is(err, natslog.ErrServerFailed) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(out.String(), "start JetStream") {
		t.Errorf("the failure is not logged: %s", out.String())
	}
	for _, line := range []string{out.String(), err.Error()} {
		if strings.Contains(line, dir) {
			t.Errorf("a value is logged: %s", line)
		}
	}
}

func TestOldServer(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"2.14.9": true, "1.99.0": true, "": true, "next": true, "2.15.0": false, "2.15.0-beta.1": false, "3.0.0": false,
	} {
		nc, err := natslog.Connect(t.Context(), announce(t, version), natslog.ConnectOptions{})
		if err == nil {
			nc.Close()
		}
		if errors.Is(err, natslog.ErrServerTooOld) != old || (err == nil) == old {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

// announce speaks just enough of the protocol to say a version: no old server
// can be had from the module.
func announce(t *testing.T, version string) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "INFO {\"server_id\":\"x\",\"version\":%q,\"headers\":true,\"max_payload\":1024}\r\n", version)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "PING") {
				_, _ = conn.Write([]byte("PONG\r\n"))
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return "nats://" + l.Addr().String()
}

func TestNoJetStream(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := natslog.Connect(t.Context(), "", natslog.ConnectOptions{NATS: []nats.Option{nats.InProcessServer(srv)}})
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := natslog.Open(t.Context(), nc, natslog.Config{CreateStreams: true}); !errors.Is(err, natslog.ErrNoJetStream) {
		t.Fatalf("got %v", err)
	}
}

func TestMissingStream(t *testing.T) {
	t.Parallel()
	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	_, err := natslog.Open(t.Context(), nc, natslog.Config{})
	var missing *natslog.StreamError
	if !errors.As(err, &missing) || !errors.Is(err, natslog.ErrNoStream) || errors.Is(err, natslog.ErrStreamSettings) || missing.Stream != "EVENTS" {
		t.Fatalf("got %v", err)
	}
	mustOpen(t, nc, natslog.Config{})
	if _, err := natslog.Open(t.Context(), nc, natslog.Config{}); err != nil {
		t.Fatalf("the streams are there: %v", err)
	}
	if _, err := natslog.Open(t.Context(), nc, natslog.Config{DuplicateWindow: time.Minute, CreateStreams: true}); !errors.Is(err, natslog.ErrStreamSettings) {
		t.Fatalf("another configuration: %v", err)
	}
}

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	_, nc := mustStart(t, natslog.Options{Durability: natslog.DurabilityProcess})
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, c := range []struct {
		stream, setting string
		change          func(*jetstream.StreamConfig)
	}{
		{"EVENTS", "subjects", func(s *jetstream.StreamConfig) { s.Subjects = []string{"annals.1.>"} }},
		{"EVENTS", "storage", func(s *jetstream.StreamConfig) { s.Storage = jetstream.MemoryStorage }},
		{"EVENTS", "max_consumers", func(s *jetstream.StreamConfig) { s.MaxConsumers = 3 }},
		{"EVENTS", "max_msgs", func(s *jetstream.StreamConfig) { s.MaxMsgs = 1000 }},
		{"EVENTS", "max_bytes", func(s *jetstream.StreamConfig) { s.MaxBytes = 1 << 20 }},
		{"EVENTS", "max_age", func(s *jetstream.StreamConfig) { s.MaxAge = time.Hour }},
		{"EVENTS", "max_msgs_per_subject", func(s *jetstream.StreamConfig) { s.MaxMsgsPerSubject = 1 }},
		{"EVENTS", "max_msg_size", func(s *jetstream.StreamConfig) { s.MaxMsgSize = 100 }},
		{"EVENTS", "discard", func(s *jetstream.StreamConfig) { s.Discard = jetstream.DiscardOld }},
		{"EVENTS", "duplicate_window", func(s *jetstream.StreamConfig) { s.Duplicates = time.Second }},
		{"EVENTS", "compression", func(s *jetstream.StreamConfig) { s.Compression = jetstream.S2Compression }},
		{"EVENTS", "allow_direct", func(s *jetstream.StreamConfig) { s.AllowDirect = false }},
		{"EVENTS", "allow_atomic", func(s *jetstream.StreamConfig) { s.AllowAtomicPublish = false }},
		{"EVENTS", "deny_delete", func(s *jetstream.StreamConfig) { s.DenyDelete = true }},
		{"EVENTS", "deny_purge", func(s *jetstream.StreamConfig) { s.DenyPurge = false }},
		{"LEDGER", "deny_purge", func(s *jetstream.StreamConfig) { s.AllowRollup, s.DenyPurge = true, false }},
		{"EVENTS", "allow_msg_ttl", func(s *jetstream.StreamConfig) { s.AllowMsgTTL = true }},
		{"EVENTS", "republish", func(s *jetstream.StreamConfig) { s.RePublish = &jetstream.RePublish{Destination: "copy.>"} }},
		{"KEYS", "max_msgs_per_subject", func(s *jetstream.StreamConfig) { s.MaxMsgsPerSubject = 1 }},
		{"QUARANTINE", "max_age", func(s *jetstream.StreamConfig) { s.MaxAge = 0 }},
		{"LEDGER", "deny_delete", func(s *jetstream.StreamConfig) { s.DenyDelete = false }},
	} {
		mustOpen(t, nc, natslog.Config{}) // The control: as created they are right.
		stream, err := js.Stream(ctx, c.stream)
		if err != nil {
			t.Fatal(err)
		}
		wrong := stream.CachedInfo().Config
		c.change(&wrong)
		if err := js.DeleteStream(ctx, c.stream); err != nil {
			t.Fatal(err)
		}
		if stream, err = js.CreateStream(ctx, wrong); err != nil {
			t.Fatalf("%s: %s: %v", c.stream, c.setting, err)
		}
		before := stream.CachedInfo().Config
		_, err = natslog.Open(ctx, nc, natslog.Config{CreateStreams: true})
		var found *natslog.StreamError
		want := natslog.StreamError{Stream: c.stream, Setting: c.setting}
		if !errors.As(err, &found) || !errors.Is(err, natslog.ErrStreamSettings) ||
			*found != want {
			t.Errorf("%s: %s: got %v", c.stream, c.setting, err)
		}
		after, err := stream.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after.Config); diff != "" {
			t.Errorf("%s: the stream was changed:\n%s", c.setting, diff)
		}
		if err := js.DeleteStream(ctx, c.stream); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	identity := func(recreate bool) string {
		srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: dir, Durability: natslog.DurabilityProcess})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = srv.Close() }()
		nc, err := srv.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if recreate {
			js, err := jetstream.New(nc)
			if err == nil {
				err = js.DeleteStream(t.Context(), "EVENTS")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		s, err := mustOpen(t, nc, natslog.Config{}).Log().State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Identity
	}
	first, restarted, recreated := identity(false), identity(false), identity(true)
	if first == "" || first != restarted || first == recreated {
		t.Fatalf("first %s, restarted %s, created anew %s", first, restarted, recreated)
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	srv, err := natslog.StartServer(t.Context(), natslog.Options{Dir: t.TempDir(), Durability: natslog.DurabilityProcess})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := srv.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	streams := mustOpen(t, nc, natslog.Config{Timeout: 300 * time.Millisecond})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	wantUnavailable(t, streams, "a stopped server")
	nc.Close()
	wantUnavailable(t, streams, "a closed connection")
	if _, err := srv.Connect(t.Context()); !errors.Is(err, events.ErrUnavailable) {
		t.Errorf("connect to a stopped server: %v", err)
	}
	if _, err := natslog.Open(context.Background(), nc, natslog.Config{}); err == nil {
		t.Error("open on a closed connection")
	}
}

func wantUnavailable(t *testing.T, streams *natslog.Streams, what string) {
	t.Helper()
	ctx, log, c := t.Context(), streams.Log(), logtest.Episode("acme", "e-1", 1)
	_, appendErr := log.Append(ctx, c, events.ExpectNew)
	_, batchErr := log.AppendBatch(ctx, []events.Pending{{Commit: c}, {Commit: logtest.Episode("acme", "e-2", 1)}})
	_, lastErr := log.Last(ctx, c.Aggregate)
	_, stateErr := log.State(ctx)
	_, getErr := streams.Keys().Get(ctx, "k1.t")
	_, manyErr := streams.Keys().GetMany(ctx, []string{"k1.t"})
	createErr := streams.Keys().Create(ctx, seal.Row{Key: "k1.t"})
	destroyErr := streams.Keys().Destroy(ctx, "k1.t")
	var followErr error
	for _, followErr = range log.Follow(ctx, 0) {
		break
	}
	for call, err := range map[string]error{
		"append": appendErr, "batch": batchErr, "last": lastErr, "state": stateErr, "get": getErr,
		"get many": manyErr, "create": createErr, "destroy": destroyErr, "follow": followErr,
	} {
		if !errors.Is(err, events.ErrUnavailable) {
			t.Errorf("%s: %s: %v", what, call, err)
		}
	}
}
