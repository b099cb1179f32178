package qdranttest

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// addressVariable names a real server to test against in place of one that is started.
const addressVariable = "ANNALS_TEST_QDRANT"

//go:embed server.py
var program string

// Server is a running server.
type Server struct {
	// Address is its host and port.
	Address string

	dir string
	key string
	cmd *exec.Cmd
	in  io.Closer
}

// Address returns the address of a server that runs until the test ends, with no collections but what other tests leave:
// if the environment names one, it is that.
func Address(tb testing.TB) string {
	tb.Helper()
	if address := os.Getenv(addressVariable); address != "" {
		return address
	}
	return Start(tb).Address
}

// Start starts a server of the test's own, which ends with the test. What it stores is in memory.
func Start(tb testing.TB) *Server {
	tb.Helper()
	return StartWithKey(tb, "")
}

// StartWithKey is Start for a server that answers only those who know the key; "" is no key.
func StartWithKey(tb testing.TB, key string) *Server {
	tb.Helper()
	s := &Server{Address: "127.0.0.1:0", dir: folder(tb), key: key}
	s.run(tb)
	tb.Cleanup(func() { s.stop(tb) })
	return s
}

// Restart kills the server, if it was not, and starts another one with the same address over what the first one stored.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	if s.cmd != nil {
		s.Kill(tb)
	}
	s.run(tb)
}

// Kill ends the server as a crash does.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		tb.Fatalf("kill server: %v", err)
	}
	_ = s.cmd.Wait() // it was killed
	_ = s.in.Close()
	s.cmd = nil
}

func (s *Server) run(tb testing.TB) {
	tb.Helper()
	// The program is the argument, so that it is the one this was built with.
	args := []string{"-c", program, s.Address, s.dir}
	if s.key != "" {
		args = append(args, s.key)
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), python(tb), args...) //nolint:gosec // ours
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatalf("make pipe: %v", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatalf("make pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start server: %v", err)
	}
	s.cmd, s.in = cmd, in
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatalf("read address of server: %v (%v)", err, cmd.Wait())
	}
	s.Address = strings.TrimSpace(line)
}

func (s *Server) stop(tb testing.TB) {
	tb.Helper()
	if s.cmd == nil {
		return
	}
	if err := errors.Join(s.in.Close(), s.cmd.Wait()); err != nil {
		tb.Errorf("stop server: %v", err)
	}
}

// folder makes a folder in memory where there is one: the engine writes everything down at once, and asks for it to be on
// the disk.
func folder(tb testing.TB) string {
	tb.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return tb.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "annals-qdrant-") //nolint:usetesting // which is not in memory.
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("remove folder: %v", err)
		}
	})
	return dir
}

// python finds the interpreter of the virtual environment. That it is missing is a failure: a test that skipped itself would
// say that what it is about works.
func python(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatalf("find folder: %v", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("the test runs outside of the module")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "build", "venv", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("find Qdrant's engine (run make venv): %v", err)
	}
	return path
}

// Save keeps what the server has stored, and returns what sets it back to that. Both restart the server.
func (s *Server) Save(tb testing.TB) (setBack func()) {
	tb.Helper()
	kept := folder(tb)
	move := func(to, from string) {
		tb.Helper()
		if s.cmd != nil {
			s.Kill(tb)
		}
		if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))); err != nil {
			tb.Fatalf("copy what is stored: %v", err)
		}
		s.Restart(tb)
	}
	move(kept, s.dir)
	return func() {
		tb.Helper()
		move(s.dir, kept)
	}
}
