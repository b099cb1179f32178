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
	heap := func(args ...string) *scan.Heap {
		t.Helper()
		out, errs, code := annals(t, append([]string{"scan", "--words", words, "--data", data, "--dir", dir, "--json"}, args...)...)
		var r scan.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitFailed || r.Heap == nil { // the words' own file
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
		return r.Heap
	}
	if h := heap(); h.Unread == "" || h.Bytes != 0 {
		t.Errorf("a heap that nobody asked for: %+v", h)
	}
	if h := heap("--heap"); h.Unread != heapOfOther || h.Bytes != 0 {
		t.Errorf("the heap of a server: %+v", h)
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

// What a node that has caught up holds in memory is counted, and makes nothing
// unclean.
func TestScanHeap(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	const word = "Quixoticzanzibar"
	if out, errs, code := annals(t, "capture", "maria", "She said hello.", "--data", data); code != exitDone {
		t.Fatalf("capture: %s%s", out, errs)
	}
	look := func(word string, args ...string) scan.Report {
		t.Helper()
		c := command(t.Context(), t, append([]string{"scan", "--heap", "--json", "--words", "-", "--data", data}, args...)...)
		c.Stdin = strings.NewReader(word)
		var out, errs bytes.Buffer
		c.Stdout, c.Stderr = &out, &errs
		var r scan.Report
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %s%s", err, out.String(), errs.String())
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || r.Heap == nil || r.Heap.Unread != "" || r.Heap.Bytes == 0 {
			t.Fatalf("%v: %s", err, out.String())
		}
		return r
	}
	if r := look(word); r.Heap.Found != 0 || !r.Clean() {
		t.Errorf("a word that nobody has: %+v", r)
	}
	// The path of the directory is in memory, and in no file's bytes or name.
	if r := look(filepath.Base(filepath.Dir(data))+"/data", "--dir", t.TempDir()); r.Heap.Found == 0 || !r.Clean() {
		t.Errorf("control: a word that it has: %+v", r)
	}
}
