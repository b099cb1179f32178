package natslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// MinServerVersion is the oldest server that is taken.
const MinServerVersion = "2.15"

const (
	minMajor, minMinor = 2, 15
	connectTimeout     = 5 * time.Second
	// syncQueue is how many messages a request for several waits for at once,
	// at most: four times the largest page. The client's default of 65,536 costs
	// half a mebibyte for each such request.
	syncQueue     = 4 * 1024
	reconnectWait = 200 * time.Millisecond
)

// ConnectOptions of a connection to an external server.
type ConnectOptions struct {
	// Logger gets a line without values for every error that no caller can be
	// told of. The default drops them.
	Logger *slog.Logger
	// NATS is added at the end: credentials, TLS.
	NATS []nats.Option
}

// Connect connects to an external server or cluster. It fails with
// events.ErrUnavailable or ErrServerTooOld. The connection reconnects for ever
// until it is closed.
func Connect(ctx context.Context, url string, o ConnectOptions) (*nats.Conn, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return connect(ctx, url, o.Logger, o.NATS...)
}

func connect(ctx context.Context, url string, logger *slog.Logger, extra ...nats.Option) (*nats.Conn, error) {
	timeout := connectTimeout
	if err := ctx.Err(); err != nil {
		return nil, translate("connect", err)
	}
	forItsLife := context.WithoutCancel(ctx) // The connection outlives the call.
	opts := []nats.Option{
		nats.Name("annals"), nats.Timeout(timeout),
		nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.SyncQueueLen(syncQueue),
		// Without handlers the client prints to the standard error.
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.LogAttrs(forItsLife, slog.LevelWarn, "nats connection",
				slog.String("reason", asyncReason(err)))
		}),
		nats.DisconnectErrHandler(func(*nats.Conn, error) {}),
	}
	nc, err := nats.Connect(url, append(opts, extra...)...)
	if err != nil {
		return nil, translate("connect", err)
	}
	if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
		nc.Close()
		return nil, fmt.Errorf("connect: %w", err)
	}
	return nc, nil
}

func asyncReason(err error) string {
	if errors.Is(err, nats.ErrSlowConsumer) {
		return "slow consumer"
	}
	return reason(err)
}

func checkVersion(v string) error {
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	x, errX := strconv.Atoi(major)
	y, errY := strconv.Atoi(minor)
	if errX != nil || errY != nil || x < minMajor || (x == minMajor && y < minMinor) {
		return fmt.Errorf("%w: need %s", ErrServerTooOld, MinServerVersion)
	}
	return nil
}
