package qdrantindex

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"
)

const (
	minMajor, minMinor = 1, 19 // filters on what an upsert may replace are evaluated once since then

	receiveBytes = 64 << 20
	sendBytes    = 64 << 20

	defaultTimeout  = 30 * time.Second
	defaultAttempts = 5
	defaultBackoff  = 50 * time.Millisecond
	maxBackoff      = 2 * time.Second
	defaultGrace    = 10 * time.Minute
	keepAlive       = 30 // seconds
)

// Config says where the server is and how it is talked to.
type Config struct {
	// Address is the host and port of the server's gRPC interface, such as "qdrant:6334". It is not the port of REST.
	Address string
	// TLS is used if it is not nil.
	TLS *tls.Config
	// APIKey is sent with every request if it is not empty. It is refused without TLS.
	APIKey string
	// Timeout bounds one attempt at one request; zero is 30 seconds.
	Timeout time.Duration
	// Attempts is how often a request is tried at most; zero is five times.
	Attempts int
	// Backoff is the wait before the second attempt, which doubles with each further one up to two seconds; zero is 50
	// milliseconds.
	Backoff time.Duration
	// Grace is how long a removed document's tombstone stays before [Index.Sweep] takes it away, so how late an attempt to
	// write that was given up may still reach the server; zero is ten minutes.
	Grace time.Duration
	// Now is the clock that tombstones are dated by.
	Now func() time.Time
	// DialOptions are added to those of the connection.
	DialOptions []grpc.DialOption
}

// Client is a connection to a Qdrant server. It is safe for concurrent use.
type Client struct {
	cfg Config
	c   *qdrant.Client
}

// Open connects to a server and checks that it answers and is new enough. It fails with [ErrConfig], [ErrUnavailable] or
// [ErrVersion], or as the context does.
func Open(ctx context.Context, cfg Config) (*Client, error) {
	host, port, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	// One connection, and no retries but our own: with more the client's interceptors stack, so that its retries multiply.
	conn, err := qdrant.NewClient(&qdrant.Config{
		Host: host, Port: port, APIKey: cfg.APIKey, UseTLS: cfg.TLS != nil, TLSConfig: cfg.TLS,
		SkipCompatibilityCheck: true, PoolSize: 1, KeepAliveTime: keepAlive,
		GrpcOptions: append([]grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(receiveBytes), grpc.MaxCallSendMsgSize(sendBytes)),
		}, cfg.DialOptions...),
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", ErrConfig) // the cause may quote the address
	}
	c := &Client{cfg: cfg, c: conn}
	if err := c.check(ctx); err != nil {
		_ = conn.Close() // nothing was sent that matters
		return nil, err
	}
	return c, nil
}

func (cfg *Config) complete() (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(cfg.Address)
	if err == nil {
		port, err = strconv.Atoi(digits)
	}
	switch {
	case err != nil || host == "" || port < 1 || port > 65535:
		return "", 0, fmt.Errorf("read address: %w", ErrConfig)
	case cfg.APIKey != "" && cfg.TLS == nil:
		return "", 0, fmt.Errorf("send API key in clear: %w", ErrConfig)
	case cfg.Now == nil:
		return "", 0, fmt.Errorf("find clock: %w", ErrConfig)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // the client joins the two with a colon
	}
	setDefault(&cfg.Timeout, defaultTimeout)
	setDefault(&cfg.Attempts, defaultAttempts)
	setDefault(&cfg.Backoff, defaultBackoff)
	setDefault(&cfg.Grace, defaultGrace)
	return host, port, nil
}

func setDefault[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// check asks the server for its version.
func (c *Client) check(ctx context.Context) error {
	r, err := ask(ctx, c, "check server", c.c.HealthCheck)
	if err != nil {
		return err
	}
	if !supported(r.GetVersion()) {
		return fmt.Errorf("check server: %w", ErrVersion)
	}
	return nil
}

// supported reports whether a version is 1.19 or a later 1.x, whose interface stays compatible.
func supported(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil || major != minMajor {
		return false
	}
	minor, err := strconv.Atoi(parts[1])
	return err == nil && minor >= minMinor
}

// Close ends the connection.
func (c *Client) Close() error {
	if err := c.c.Close(); err != nil {
		return fmt.Errorf("close connection: %w", err)
	}
	return nil
}
