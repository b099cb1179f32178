package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
)

// serveOnSmallDisk starts a server whose files cannot get larger than some kibibytes.
func serveOnSmallDisk(t *testing.T, data string, kibibytes int) *server {
	t.Helper()
	c := command(context.Background(), t, serveArgs(data)...)
	limit := fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, kibibytes<<10/512)
	shell := exec.CommandContext(context.Background(), "sh", append([]string{"-c", limit}, c.Args...)...)
	shell.Env = c.Env
	return serveBy(t, data, shell)
}

// A server whose disk is full says so, to who writes and to who asks whether it is
// ready, and reads go on. With room again the next start has all that it acknowledged,
// and takes what it refused.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serveOnSmallDisk(t, data, 400)
	texts := map[string]string{}
	capture := func(c *client.Client) error {
		text := fmt.Sprintf("The word is %d. ", len(texts)) + strings.Repeat("And more of it. ", 2_000)
		var out struct {
			ID string `json:"id"`
		}
		err := c.Do(t.Context(), client.Call{Method: http.MethodPost, Path: "/v1/episodes", Out: &out, Body: map[string]any{
			"subject": "maria", "text": text, "source": map[string]any{"kind": "test", "ref": "r"},
		}})
		if err == nil {
			texts[out.ID] = text
		}
		return err
	}
	if err := capture(s.Client); err != nil {
		t.Fatalf("control: %v", err)
	}
	if status, body := get(t, data, http.MethodGet, "/readyz"); status != http.StatusOK {
		t.Errorf("control: before, it is not ready: %d %s", status, body)
	}
	const code = "log_not_writable"
	var err error
	for err == nil && len(texts) < 100 {
		err = capture(s.Client)
	}
	for range 2 {
		if p, is := errors.AsType[*client.ProblemError](err); !is || p.Status != http.StatusServiceUnavailable || p.Code != code {
			t.Errorf("after %d captures: %v", len(texts), err)
		}
		err = capture(s.Client)
	}
	if status, body := get(t, data, http.MethodGet, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(string(body), code) {
		t.Errorf("readyz: %d %s", status, body)
	}
	if status, body := get(t, data, http.MethodGet, "/healthz"); status != http.StatusOK {
		t.Errorf("healthz: %d %s", status, body)
	}
	all := func(c *client.Client) {
		t.Helper()
		for id, text := range texts {
			var out struct {
				Text string `json:"text"`
			}
			err := c.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/v1/episodes/" + id, Out: &out})
			if err != nil || out.Text != text {
				t.Errorf("what was acknowledged: %v, %d bytes", err, len(out.Text))
			}
		}
	}
	all(s.Client)
	s.stop()
	again := serve(t, data)
	all(again.Client)
	if err := capture(again.Client); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if status, body := get(t, data, http.MethodGet, "/readyz"); status != http.StatusOK {
		t.Errorf("with room again: %d %s", status, body)
	}
	again.stop()
	if out, errs, code := annals(t, "verify", "--data", data); code != 0 {
		t.Errorf("verify: exit %d: %s%s", code, out, errs)
	}
}
