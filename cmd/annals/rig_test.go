package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

// A build that leaves values readable says so, and serves nobody by mistake.
// Any other does not know the flag.
func TestPlaintextRig(t *testing.T) {
	t.Parallel()
	out, _, _ := annals(t, "version")
	if got := strings.Contains(out, "DOES NOT ENCRYPT"); got != seal.PlaintextRig {
		t.Errorf("version: %s", out)
	}
	data := filepath.Join(t.TempDir(), "data")
	if seal.PlaintextRig {
		if _, errs, code := annals(t, "serve", "--data", data); code != exitFailed || !strings.Contains(errs, "--plaintext-rig") {
			t.Errorf("serve without the flag: exit %d: %s", code, errs)
		}
		return
	}
	if _, errs, code := annals(t, "serve", "--plaintext-rig", "--data", data); code != exitMisuse {
		t.Errorf("serve with the flag: exit %d: %s", code, errs)
	}
}
