package main

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecoveryModeOfKeys cuts the keys of a server that was stopped. The server
// starts, says what is wrong and serves nothing; no command does, and no backup is
// taken. When the keys are put back, everything is there.
func TestRecoveryModeOfKeys(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	s := serve(t, data, "--durability", "process")
	id, err := captureKeyed(t.Context(), s.Client, "w0-r0-0")
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	msgs := filepath.Join(data, "log", "jetstream", "$G", "streams", "KEYS", "msgs")
	was := filepath.Join(t.TempDir(), "msgs")
	if err := errors.Join(os.CopyFS(was, os.DirFS(msgs)), os.Truncate(filepath.Join(msgs, "1.blk"), 0)); err != nil {
		t.Fatal(err)
	}

	s = serve(t, data, "--durability", "process")
	inRecovery(t, data)
	if status, body := get(t, data, http.MethodGet, "/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(string(body), "KEYS") {
		t.Errorf("readyz: %d %s", status, body)
	}
	s.stop()
	out := t.TempDir()
	for _, args := range [][]string{{"recall", "canary"}, {"status"}, {"verify"}, {"verify", "log"}, {"backup", out}, {"backup", out, "--only", "keys"}} {
		stdout, errs, code := annals(t, append(args, "--data", data)...)
		if code != exitNotReady || !strings.Contains(errs, "the keys") || !strings.Contains(errs, "KEYS") {
			t.Errorf("%s: exit %d: %s%s", args[0], code, stdout, errs)
		}
	}
	if made, err := os.ReadDir(out); err != nil || len(made) > 0 {
		t.Errorf("a backup was made: %v %v", made, err)
	}

	if err := errors.Join(os.RemoveAll(msgs), os.CopyFS(msgs, os.DirFS(was))); err != nil {
		t.Fatal(err)
	}
	s = serve(t, data, "--durability", "process")
	if status, body := get(t, data, http.MethodGet, "/v1/episodes/"+id); status != http.StatusOK {
		t.Errorf("after the repair: %d %s", status, body)
	}
	for _, args := range [][]string{{"verify"}, {"verify", "log"}, {"backup", out}} {
		if stdout, errs, code := annals(t, append(args, "--data", data)...); code != exitDone {
			t.Errorf("%s: exit %d: %s%s", args[0], code, stdout, errs)
		}
	}
	s.stop()
}
