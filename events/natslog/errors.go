package natslog

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
)

// Errors of starting up. Each asks for a different act of the operator.
var (
	// ErrBadDirectory: the store's directory cannot be created or written.
	ErrBadDirectory = errors.New("store directory unusable")
	// ErrDirectoryInUse: another process has the store open.
	ErrDirectoryInUse = errors.New("store directory in use")
	// ErrNotReady: the embedded server did not start in time.
	ErrNotReady = errors.New("server not ready")
	// ErrServerFailed: the embedded server gave up starting.
	ErrServerFailed = errors.New("server failed to start")
	// ErrUnsafeListen: the server would listen beyond the loopback interface
	// without any authentication.
	ErrUnsafeListen = errors.New("listening without authentication")
	// ErrEncryptedStore: the server encrypts at rest, which turns secure
	// deletion into plain deletion.
	ErrEncryptedStore = errors.New("encryption at rest defeats secure deletion")
	// ErrServerTooOld: the server is older than [MinServerVersion].
	ErrServerTooOld = errors.New("server too old")
	// ErrNoJetStream: JetStream is not enabled for the account.
	ErrNoJetStream = errors.New("JetStream not enabled")
	// ErrNoStream: a stream is missing and may not be created.
	ErrNoStream = errors.New("no stream")
	// ErrStreamSettings: a stream has settings that the log does not allow.
	ErrStreamSettings = errors.New("stream has the wrong settings")
)

// ErrRewound ends a follower: the log ends before what it has read, or is
// another log. Whatever was built from it must be built again.
var ErrRewound = errors.New("log went backwards")

// StreamError is ErrNoStream or ErrStreamSettings of one stream.
type StreamError struct {
	Stream string
	// Setting is the name of the first wrong setting as JetStream spells it,
	// "" if the stream is missing.
	Setting string
}

// Error names the stream and the setting.
func (e *StreamError) Error() string {
	if e.Setting == "" {
		return fmt.Sprintf("%v: %s", ErrNoStream, e.Stream)
	}
	return fmt.Sprintf("%v: %s: %s", ErrStreamSettings, e.Stream, e.Setting)
}

// Is reports ErrNoStream or ErrStreamSettings.
func (e *StreamError) Is(target error) bool {
	if e.Setting == "" {
		return target == ErrNoStream
	}
	return target == ErrStreamSettings
}

// code is the JetStream error code in err, 0 if there is none.
func code(err error) jetstream.ErrorCode {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode
	}
	var js jetstream.JetStreamError
	if errors.As(err, &js) && js.APIError() != nil {
		return js.APIError().ErrorCode
	}
	return 0
}

// isConflict reports a failed expectation. One replica says it with the one
// code, several say it with either.
func isConflict(err error) bool {
	c := code(err)
	return c == jetstream.JSErrCodeStreamWrongLastSequence ||
		c == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}

// translate turns what NATS says into an error of package events. The text of
// NATS is dropped: it may hold a subject.
func translate(verb string, err error) error {
	if failed, is := errors.AsType[*WriteError](err); is {
		return fmt.Errorf("%s: %w", verb, failed)
	}
	switch {
	case errors.Is(err, nats.ErrMaxPayload), code(err) == jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return fmt.Errorf("%s: %w", verb, events.ErrTooLarge)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w: %w", verb, events.ErrUnavailable, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w: %w", verb, events.ErrUnavailable, context.DeadlineExceeded)
	case code(err) != 0:
		return fmt.Errorf("%s: %w: JetStream error %d", verb, events.ErrUnavailable, code(err))
	}
	return fmt.Errorf("%s: %w: %s", verb, events.ErrUnavailable, reason(err))
}

func reason(err error) string {
	switch {
	case errors.Is(err, nats.ErrTimeout):
		return "timeout"
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse):
		return "nobody answers"
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionDraining):
		return "connection closed"
	case errors.Is(err, errRival):
		return "a rival write does not settle"
	case errors.Is(err, errSilence):
		return "incomplete answer"
	case errors.Is(err, nats.ErrPermissionViolation):
		return "not permitted"
	}
	return "request failed"
}
