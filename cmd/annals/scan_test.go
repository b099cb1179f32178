package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/scan"
)

// The command says where a word is and not which, by its exit code too.
func TestScan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, words, vectors := filepath.Join(dir, "data"), filepath.Join(dir, "words"), filepath.Join(dir, "vectors")
	const word = "Quixoticzanzibar"
	for path, text := range map[string]string{
		words: "elsewhere\n\n" + word + "\r\n", vectors: "[[0.5,0.25,1,2,3,4,5,6],[1,2,3,4,5,6,7,8]]\n[8,7,6,5,4,3,2,1]",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var more []string
	if seal.PlaintextRig {
		more = []string{"--plaintext-rig"}
	}
	s := serve(t, data, more...) // scanned while it serves
	defer s.stop()
	if out, errs, code := annals(t, "capture", "maria", "She said "+word+".", "--data", data); code != exitDone {
		t.Fatalf("capture: %s%s", out, errs)
	}
	sealed := exitDone
	if seal.PlaintextRig {
		sealed = exitFailed
	}
	all := []string{"scan", "--words", words, "--vectors", vectors, "--word", "a,b c", "--data", data, "--json"}
	out, errs, code := annals(t, all...)
	if code != sealed {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	var r scan.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil || r.Files == 0 || r.Bytes == 0 || r.Unpacked == 0 && r.Planted == 0 {
		t.Fatalf("%s: %v", out, err)
	}
	if err := os.WriteFile(filepath.Join(data, "note"), []byte(base64.StdEncoding.EncodeToString([]byte("a "+word))), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code = annals(t, all...)
	if code != exitFailed || strings.Contains(out+errs, "uixotic") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	at := scan.Hit{File: "note", In: scan.InBytes, Offset: 3, Length: 21, Encoding: "base64 at 2", Pattern: 2}
	if found := fmt.Sprint(r.Hits); !strings.Contains(found, fmt.Sprint(at)) {
		t.Errorf("%v is not among %s", at, found)
	}
	c := command(t.Context(), t, "scan", "--words", "-", "--dir", data)
	c.Stdin = strings.NewReader(word)
	var plain bytes.Buffer
	c.Stdout = &plain
	if err := c.Run(); err == nil || !strings.Contains(plain.String(), "note: pattern 0 as base64 at 2 in its bytes at 3") {
		t.Errorf("%v: %s", err, plain.String())
	}
	for name, args := range map[string][]string{
		"nothing to look for":  {},
		"a short word":         {"--word", "abc"},
		"no such file":         {"--words", filepath.Join(dir, "absent")},
		"no such directory":    {"--word", word, "--dir", filepath.Join(dir, "absent")},
		"no vectors":           {"--vectors", words},
		"one input for two":    {"--words", "-", "--vectors", "-"},
		"something in between": {"--word", word, word},
	} {
		if out, errs, code := annals(t, append(append([]string{"scan"}, args...), "--data", data)...); code != exitMisuse {
			t.Errorf("%s: exit %d: %s%s", name, code, out, errs)
		}
	}
}
