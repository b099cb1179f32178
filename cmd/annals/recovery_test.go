package main

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/cmd/annals/internal/client"
	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// get calls a server as the local user and returns what came, as it came.
func get(t *testing.T, data, method, path string) (int, []byte) {
	t.Helper()
	addr, err := node.RunningAddr(data)
	if err != nil {
		t.Fatal(err)
	}
	token, err := node.ReadLocalToken(data)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b
}

// TestRecoveryMode flips a bit in the log of a server that was stopped. The
// server starts, says what is wrong, and serves nothing else; the commands say
// the same. When the bit is put back, everything is there.
func TestRecoveryMode(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, data, "--durability", "process")
	id, err := captureKeyed(t.Context(), s.Client, "w0-r0-0")
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	file := filepath.Join(data, "log", "jetstream", "$G", "streams", "EVENTS", "msgs", "1.blk")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/3] ^= 4
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}

	s = serve(t, data, "--durability", "process")
	inRecovery(t, data)
	s.stop()
	for _, args := range [][]string{{"recall", "canary"}, {"status"}, {"verify"}, {"prove", "1"}} {
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != exitNotReady || !strings.Contains(errs, "the log") {
			t.Errorf("%s: exit %d: %s%s", args[0], code, out, errs)
		}
	}

	b[len(b)/3] ^= 4
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s = serve(t, data, "--durability", "process")
	if status, body := get(t, data, http.MethodGet, "/v1/episodes/"+id); status != http.StatusOK {
		t.Errorf("after the repair: %d %s", status, body)
	}
	for _, args := range [][]string{{"verify"}, {"verify", "log"}, {"prove", "1"}, {"status"}} {
		if out, errs, code := annals(t, append(args, "--data", data)...); code != exitDone {
			t.Errorf("%s: exit %d: %s%s", args[0], code, out, errs)
		}
	}
	if _, errs, code := annals(t, "prove", "9999", "--data", data); code != exitFailed || !strings.Contains(errs, "not_covered") {
		t.Errorf("prove what is not there: exit %d: %s", code, errs)
	}
	s.stop()
}

func inRecovery(t *testing.T, data string) {
	t.Helper()
	answers := map[string]int{
		"GET /healthz": http.StatusOK, "GET /openapi.json": http.StatusOK, "GET /v1/ledger": http.StatusOK,
		"GET /v1/ledger/checkpoint": http.StatusOK, "GET /v1/projections": http.StatusOK,
		"GET /v1/operations/x": http.StatusNotFound,
	}
	_, b := get(t, data, http.MethodGet, "/openapi.json")
	var doc struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for path, methods := range doc.Paths {
		path = strings.NewReplacer("{id}", "x", "{name}", "facts", "{subject}", "s", "{position}", "1").Replace(path)
		for method := range methods {
			method = strings.ToUpper(method)
			status, body := get(t, data, method, path)
			if want, answers := answers[method+" "+path]; answers {
				if status != want {
					t.Errorf("%s %s: %d %s", method, path, status, body)
				}
				continue
			}
			refused++
			var p client.ProblemError
			if err := json.Unmarshal(body, &p); err != nil || status != http.StatusServiceUnavailable || p.Code != "recovery" {
				t.Errorf("%s %s: %d %s", method, path, status, body)
			}
		}
	}
	if refused < 15 {
		t.Errorf("only %d routes refuse", refused)
	}
	if _, b := get(t, data, http.MethodGet, "/v1/ledger"); !strings.Contains(string(b), `"state":"damaged"`) {
		t.Errorf("the ledger says %s", b)
	}
	public, err := ledger.LoadVerifier(data)
	if err != nil {
		t.Fatal(err)
	}
	_, b = get(t, data, http.MethodGet, "/v1/ledger/checkpoint")
	if c, err := ledger.OpenCheckpoint(public, b); err != nil || c.Size == 0 {
		t.Errorf("the checkpoint is %v, %v", c, err)
	}
}
