package natslog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// A server that fails to write to a stream does not answer that write, nor any other
// to the stream until it is started again, and goes on to answer reads. So who is not
// answered asks it why, and from then on nothing is sent to wait for an answer.

// WriteError says that the server failed to write to a stream. It matches
// events.ErrNotWritable and events.ErrUnavailable.
type WriteError struct {
	Stream string
	// Cause is the number of the system's error, nil if it is not known.
	Cause error
}

// Error names the stream and the cause.
func (e *WriteError) Error() string {
	cause := ""
	if e.Cause != nil {
		cause = ": " + e.Cause.Error()
	}
	return fmt.Sprintf("%v: %s%s; it has to be started again once it can be", events.ErrNotWritable, e.Stream, cause)
}

// Is reports events.ErrNotWritable and events.ErrUnavailable.
func (*WriteError) Is(target error) bool {
	return target == events.ErrNotWritable || target == events.ErrUnavailable
}

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Cause }

// Health says whether the server takes writes: nil, a *WriteError, which stays until the
// server is started again, or events.ErrUnavailable.
func (s *Server) Health() error {
	if err := s.writeError(); err != nil {
		return err
	}
	list := s.srv.Healthz(&server.HealthzOptions{Details: true}).Errors
	for _, e := range list {
		if e.Type != server.HealthzErrorStream || !strings.Contains(e.Error, "write error") {
			continue
		}
		failed := &WriteError{Stream: e.Stream}
		for _, cause := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO, syscall.EROFS} {
			if strings.HasSuffix(e.Error, cause.Error()) {
				failed.Cause = cause
			}
		}
		return s.fail(failed)
	}
	if len(list) > 0 {
		return fmt.Errorf("%w: its server is not healthy", events.ErrUnavailable)
	}
	return nil
}

// fail notes a write error and returns the first.
func (s *Server) fail(failed *WriteError) error {
	s.failed.CompareAndSwap(nil, failed)
	return s.writeError()
}

// writeError is the first that is known of, nil if none is.
func (s *Server) writeError() error {
	if failed := s.failed.Load(); failed != nil {
		return failed //nolint:wrapcheck // It is ours.
	}
	return nil
}

// refuse is why nothing needs to be sent, nil if nothing is known of it.
func (s *store) refuse() error {
	if s.server == nil {
		return nil
	}
	return s.server.writeError()
}

// late is when a write that has no answer has the server asked for its health.
const late = time.Second

// publish has one message written, within the timeout, or until the server is known not
// to write it.
func (s *store) publish(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	if err := s.refuse(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if s.server != nil {
		look := time.AfterFunc(late, func() {
			if s.server.Health() != nil {
				cancel()
			}
		})
		defer look.Stop()
	}
	ack, err := s.js.PublishMsg(ctx, m)
	if err != nil && ctx.Err() != nil {
		return nil, errors.Join(err, s.refuse())
	}
	return ack, err //nolint:wrapcheck // callers translate.
}

// unanswered is the error of a write: why the server does not answer, if that is it.
func (s *store) unanswered(verb string, err error) error {
	out := translate(verb, err)
	if s.server == nil || code(err) != 0 || errors.Is(err, context.Canceled) {
		return out
	}
	if failed, is := errors.AsType[*WriteError](s.server.Health()); is {
		return fmt.Errorf("%s: %w", verb, failed)
	}
	return out
}
