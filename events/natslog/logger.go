package natslog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"syscall"
)

// serverLogger passes the server's warnings and errors on. It passes the
// constant template of a line, never its arguments, because they may hold
// subjects; of an error among them it keeps the number of the system call's
// error.
type serverLogger struct {
	out *slog.Logger

	mu    sync.Mutex
	fatal bool
	cause error
}

// Noticef drops the line.
func (*serverLogger) Noticef(string, ...any) {}

// Debugf drops the line.
func (*serverLogger) Debugf(string, ...any) {}

// Tracef drops the line.
func (*serverLogger) Tracef(string, ...any) {}

// Warnf passes the template on.
func (l *serverLogger) Warnf(format string, v ...any) { l.pass(slog.LevelWarn, format, v) }

// Errorf passes the template on.
func (l *serverLogger) Errorf(format string, v ...any) { l.pass(slog.LevelError, format, v) }

// Fatalf passes the template on and remembers that the server gave up; it does
// not end the process.
func (l *serverLogger) Fatalf(format string, v ...any) {
	l.mu.Lock()
	l.fatal, l.cause = true, errnoOf(v)
	l.mu.Unlock()
	l.pass(slog.LevelError, format, v)
}

func (l *serverLogger) failed() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal, l.cause
}

func (l *serverLogger) pass(level slog.Level, format string, v []any) {
	attrs := []slog.Attr{slog.String("template", format)}
	if err := errnoOf(v); err != nil {
		attrs = append(attrs, slog.String("cause", err.Error()))
	}
	l.out.LogAttrs(context.Background(), level, "nats server", attrs...)
}

func errnoOf(args []any) error {
	for _, a := range args {
		err, ok := a.(error)
		var errno syscall.Errno
		if ok && errors.As(err, &errno) {
			return errno
		}
	}
	return nil
}
