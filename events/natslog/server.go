package natslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// MaxPayload is the largest message an embedded server takes, in bytes, with
// its headers.
const MaxPayload = 8 << 20

const (
	lockFile     = "annals.lock"
	readyTimeout = 30 * time.Second
)

// Durability is what an acknowledged write survives.
type Durability int

const (
	// DurabilityPower is for a power cut. Every write is synced to the disk.
	DurabilityPower Durability = iota
	// DurabilityProcess is for the end of the process, however it ends. A power
	// cut of the host may take the last two minutes.
	DurabilityProcess
)

// Options of an embedded server. Only Dir is required.
type Options struct {
	// Dir is the directory of the store, created with mode 0700 if absent.
	// One server at a time can use it.
	Dir        string
	Durability Durability
	// Listen is "host:port" to be reached by other processes, "" for none;
	// port 0 takes any free one.
	Listen     string
	ServerName string
	// ReadyTimeout bounds the start, which reads the whole index of a large
	// store after a crash. The default is 30 seconds.
	ReadyTimeout time.Duration
	// Reached has the last sequences that parts of the log are known to have had, by
	// their names ([PartData] and so on). A block file with one far above is a
	// *BlockError, and no server is started on it.
	Reached map[string]uint64
	// Logger gets warnings and errors of the server, without their values. The
	// default drops them.
	Logger *slog.Logger
	// Configure may set what is not covered here, such as authentication, TLS
	// or a cluster. What it may not undo is checked afterwards.
	Configure func(*server.Options)
}

// Server is a NATS server in this process.
type Server struct {
	srv    *server.Server
	dir    string
	lock   *flock.Flock
	logger *slog.Logger
	// launched is closed when the server's own start has ended, well or not.
	launched chan struct{}
	// failed is the first write error that is known of.
	failed atomic.Pointer[WriteError]
}

// StartServer starts a server and returns when it takes connections. It
// installs no signal handlers and opens no monitoring port. Its errors are
// ErrBadDirectory, ErrDirectoryInUse, ErrUnsafeListen, ErrEncryptedStore,
// ErrServerFailed, ErrNotReady and *BlockError.
func StartServer(ctx context.Context, o Options) (*Server, error) {
	opts, err := serverOptions(o)
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	logger := &serverLogger{out: o.Logger}
	if err := inspect(o.Dir, o.Reached); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), unlock(lock))
	}
	if err := begin(o.Dir); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w: %w", ErrBadDirectory, err), unlock(lock))
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w: %w", ErrServerFailed, err), unlock(lock))
	}
	srv.SetLoggerV2(logger, false, false, false)
	s := &Server{srv: srv, dir: o.Dir, lock: lock, logger: o.Logger, launched: make(chan struct{})}
	if err := s.start(ctx, logger, o.ReadyTimeout); err != nil {
		return nil, errors.Join(fmt.Errorf("start server: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, logger *serverLogger, wait time.Duration) error {
	if wait == 0 {
		wait = readyTimeout
	}
	started := make(chan bool, 1)
	go func() {
		s.srv.Start()
		close(s.launched)
		failed, _ := logger.failed()
		started <- !failed && s.srv.ReadyForConnections(wait)
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case ready := <-started:
		failed, cause := logger.failed()
		switch {
		case failed && cause != nil:
			return fmt.Errorf("%w: %w", ErrServerFailed, cause)
		case failed:
			return ErrServerFailed
		case !ready:
			return ErrNotReady
		}
		return nil
	case <-timer.C:
		return ErrNotReady
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotReady, ctx.Err())
	}
}

// Connect returns a connection inside the process. The caller closes it before
// the server.
func (s *Server) Connect(ctx context.Context) (*nats.Conn, error) {
	return connect(ctx, "", s.logger, nats.InProcessServer(s.srv))
}

// URL is the address for other processes, "" if the server does not listen.
func (s *Server) URL() string {
	if s.srv.Addr() == nil {
		return ""
	}
	return s.srv.ClientURL()
}

// launchGrace bounds how long Close waits for a start that it has cut off.
const launchGrace = 5 * time.Second

// Close stops the server and returns when everything is on the disk and the
// directory is free. It can be called more than once. After a write error the next
// start takes it for an unclean end, for a deletion may be what failed.
func (s *Server) Close() error {
	if s.lock.Locked() { // not closed before
		_ = s.Health() // what the server knows of a failed write ends with it
	}
	s.srv.Shutdown()
	// A start that was not waited for may still be writing.
	timer := time.NewTimer(launchGrace)
	defer timer.Stop()
	settled := true
	select {
	case <-s.launched:
	case <-timer.C:
		settled = false
	}
	s.srv.WaitForShutdown()
	var err error
	if settled && s.writeError() == nil && s.lock.Locked() {
		err = end(s.dir)
	}
	return errors.Join(err, unlock(s.lock))
}

func serverOptions(o Options) (*server.Options, error) {
	opts := &server.Options{
		ServerName: o.ServerName, DontListen: true,
		JetStream: true, StoreDir: o.Dir, DisableJetStreamBanner: true,
		NoSigs: true, MaxPayload: MaxPayload,
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, fmt.Errorf("%w: listen address is not host:port", ErrServerFailed)
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%w: listen port is not a number", ErrServerFailed)
		}
		opts.DontListen, opts.Host, opts.Port = false, host, int(n)
		if n == 0 {
			opts.Port = server.RANDOM_PORT
		}
	}
	if o.Configure != nil {
		o.Configure(opts)
	}
	// What the guarantees rest on is not left to Configure.
	opts.StoreDir, opts.JetStream, opts.NoSigs = o.Dir, true, true
	opts.SyncAlways = o.Durability == DurabilityPower
	opts.HTTPPort, opts.HTTPSPort, opts.ProfPort = 0, 0, 0
	switch {
	case opts.JetStreamKey != "" || opts.JetStreamTpm.KeysFile != "":
		return nil, ErrEncryptedStore
	case !opts.DontListen && !isLoopback(opts.Host) && !authenticates(opts):
		return nil, ErrUnsafeListen
	}
	return opts, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

func authenticates(o *server.Options) bool {
	return o.CustomClientAuthentication != nil || o.AuthCallout != nil || o.TLSVerify || o.TLSMap ||
		len(o.Users) > 0 || len(o.Nkeys) > 0 || o.Username != "" || o.Authorization != "" ||
		len(o.TrustedOperators) > 0 || len(o.TrustedKeys) > 0
}

// lockDir makes the directory usable and keeps other processes out: the server
// itself would share it and spoil it.
func lockDir(dir string) (*flock.Flock, error) {
	if dir == "" {
		return nil, fmt.Errorf("%w: no directory given", ErrBadDirectory)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadDirectory, err)
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBadDirectory, err)
	case !ok:
		return nil, ErrDirectoryInUse
	}
	return lock, nil
}

func unlock(lock *flock.Flock) error {
	if err := lock.Unlock(); err != nil {
		return fmt.Errorf("free directory: %w", err)
	}
	return nil
}
