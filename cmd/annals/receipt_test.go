package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

// The receipt of a forget is there when the erasure is purged, and verifies with
// nothing but the public key.
func TestReceiptCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	s := serve(t, data)
	run := func(want int, args ...string) string {
		t.Helper()
		out, errs, code := annals(t, append(args, "--data", data)...)
		if code != want {
			t.Fatalf("annals %q: exit %d, want %d: %s%s", args, code, want, out, errs)
		}
		return out
	}
	run(exitDone, "capture", "maria", "She moved to Porto.")
	var out erasure
	if err := json.Unmarshal([]byte(run(exitDone, "forget", "--subject", "maria", "--json")), &out); err != nil {
		t.Fatal(err)
	}
	tick, limit := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !strings.HasPrefix(run(exitDone, "erasure", out.ErasureID), "purged") {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it is not purged")
		}
	}
	receipt := run(exitDone, "receipt", out.ErasureID)
	run(exitFailed, "receipt", "01a22d34-bbf0-7e1a-b451-e043380e6678")
	s.stop()
	file, key := filepath.Join(dir, "receipt.json"), filepath.Join(dir, "ledger.pub")
	public, err := os.ReadFile(filepath.Join(data, "ledger.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string][]byte{key: public, file: []byte(receipt)} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if got := run(exitDone, "receipt", "verify", file, "--key", key); !strings.Contains(got, out.ErasureID) || !strings.Contains(got, "backups_dead not yet") {
		t.Errorf("verify: %s", got)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(receipt, `"matched": 1`, `"matched": 2`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	run(exitFailed, "receipt", "verify", file, "--key", key)
	run(exitMisuse, "receipt", "verify", file)
}
