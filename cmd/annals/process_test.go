package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
)

// command is this test binary as the annals command.
func command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, exe, args...)
	c.Env = append(os.Environ(), "ANNALS_TEST_COMMAND=1")
	return c
}

// annals runs a command to its end.
func annals(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := command(t.Context(), t, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// server is a running server process.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	logs *bytes.Buffer
	*client.Client
}

// serve starts a server process and returns when it says that it serves.
func serve(t *testing.T, data string, more ...string) *server {
	t.Helper()
	return serveBy(t, data, command(context.Background(), t, append(serveArgs(data), more...)...))
}

func serveArgs(data string) []string {
	return []string{"serve", "--data", data, "--addr", "127.0.0.1:0"}
}

// serveBy starts a server process with a command.
func serveBy(t *testing.T, data string, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, cmd: cmd, logs: &bytes.Buffer{}}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.logs
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			s.kill()
		}
	})
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n') // a process that died says nothing
		line <- text
	}()
	select {
	case text := <-line:
		_, addr, ok := strings.Cut(strings.TrimSpace(text), "http://")
		if !ok {
			s.kill()
			t.Fatalf("the server said %q: %s", text, s.logs)
		}
		token, err := node.ReadLocalToken(data)
		if err != nil {
			t.Fatal(err)
		}
		s.Client = client.New(addr, token)
	case <-time.After(time.Minute):
		s.kill()
		t.Fatalf("the server does not start: %s", s.logs)
	}
	return s
}

// kill ends the process at once, as kill -9 does.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Error(err)
	}
	_ = s.cmd.Wait() // it was killed, and says so
}

// stop ends the process as an operator does.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		s.t.Errorf("the server ended with %v: %s", err, s.logs)
	}
}
