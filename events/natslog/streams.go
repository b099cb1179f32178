package natslog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const defaultTimeout = 5 * time.Second

// Config of the streams.
type Config struct {
	// Replicas of each stream: 1 (the default), 3 or 5.
	Replicas int
	// CreateStreams allows missing streams to be created.
	CreateStreams bool
	// DuplicateWindow is how long the server recognises a commit id, 2 minutes
	// if zero. It costs memory, about 125 bytes an id.
	DuplicateWindow time.Duration
	// Timeout bounds every request whose context has no deadline, 5 seconds
	// if zero.
	Timeout time.Duration
	// Server is what the streams are on, if it runs in this process: it is asked why
	// a write is not answered.
	Server *Server
}

func (c Config) withDefaults() Config {
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.DuplicateWindow == 0 {
		c.DuplicateWindow = defaultDuplicateWindow
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return c
}

// Streams are the verified streams of one account. They do not own their
// connection.
type Streams struct {
	byName map[string]*store
}

// Open creates the streams, if it may, and verifies their settings. Its errors
// are a *StreamError, ErrServerTooOld, ErrNoJetStream and
// events.ErrUnavailable.
func Open(ctx context.Context, nc *nats.Conn, c Config) (*Streams, error) {
	c = c.withDefaults()
	if err := checkVersion(nc.ConnectedServerVersion()); err != nil {
		return nil, fmt.Errorf("open streams: %w", err)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(c.Timeout))
	if err != nil {
		return nil, translate("open streams", err)
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		if notEnabled(err) {
			return nil, fmt.Errorf("open streams: %w", ErrNoJetStream)
		}
		return nil, translate("open streams", err)
	}
	s := &Streams{byName: map[string]*store{}}
	for _, want := range settings(c) {
		stream, err := openStream(ctx, js, want, c.CreateStreams)
		if err != nil {
			return nil, fmt.Errorf("open streams: %w", err)
		}
		s.byName[want.Name] = &store{
			nc: nc, js: js, stream: stream, name: want.Name,
			identity: identity(stream.CachedInfo()), replicated: want.Replicas > 1, timeout: c.Timeout, server: c.Server,
		}
	}
	return s, nil
}

func notEnabled(err error) bool {
	return errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount)
}

func openStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, create bool) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if !create {
			return nil, &StreamError{Stream: want.Name}
		}
		// Creating it twice with the same settings is no error, so two
		// processes may do so at once.
		stream, err = js.CreateStream(ctx, want)
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		if stream, err = js.Stream(ctx, want.Name); err != nil {
			return nil, translate("look up stream", err)
		}
	case err != nil:
		return nil, translate("open stream", err)
	}
	if setting := wrongSetting(stream.CachedInfo().Config, want); setting != "" {
		return nil, &StreamError{Stream: want.Name, Setting: setting}
	}
	return stream, nil
}

// identity differs for a stream that was created anew and survives restarts.
func identity(info *jetstream.StreamInfo) string {
	h := sha256.New()
	var created [8]byte
	binary.BigEndian.PutUint64(created[:], uint64(info.Created.UnixNano()))
	_, _ = h.Write(created[:])
	_, _ = h.Write([]byte(info.Config.Name))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Log is the log.
func (s *Streams) Log() *Log { return &Log{store: s.byName[streamEvents]} }

// Keys are the rows of wrapped keys.
func (s *Streams) Keys() *Keys { return &Keys{store: s.byName[streamKeys]} }

// Quarantine is where untrusted commits wait.
func (s *Streams) Quarantine() *Quarantine { return &Quarantine{store: s.byName[streamQuarantine]} }

// Eraser removes messages of the log for good. Only the forget saga holds one.
func (s *Streams) Eraser() *Eraser { return &Eraser{store: s.byName[streamEvents]} }
