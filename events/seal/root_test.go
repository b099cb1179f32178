package seal_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

func TestFileRoot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "root.key")
	if _, err := seal.OpenFileRoot(path, seal.FileRootOptions{}); !errors.Is(err, seal.ErrRootMissing) {
		t.Fatalf("open a missing file: %v, want ErrRootMissing", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file was made unasked: %v", err)
	}
	made, err := seal.OpenFileRoot(path, seal.FileRootOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("mode %v, %v, want 0600", info.Mode(), err)
	}
	wrapped, err := made.Wrap(t.Context(), []byte("key"), []byte("place"))
	if err != nil {
		t.Fatal(err)
	}
	for _, create := range []bool{true, false} {
		again, err := seal.OpenFileRoot(path, seal.FileRootOptions{Create: create})
		if err != nil {
			t.Fatal(err)
		}
		if again.ID() != made.ID() || !tokenForm.MatchString(again.ID()) {
			t.Fatalf("id %q, then %q", made.ID(), again.ID())
		}
		if got, err := again.Unwrap(t.Context(), wrapped, []byte("place")); err != nil || string(got) != "key" {
			t.Fatalf("unwrap: %q, %v", got, err)
		}
		if _, err := again.Unwrap(t.Context(), wrapped, []byte("other place")); !errors.Is(err, seal.ErrTampered) {
			t.Fatalf("unwrap elsewhere: %v, want ErrTampered", err)
		}
	}
	if _, err := newRoot(t).Unwrap(t.Context(), wrapped, []byte("place")); !errors.Is(err, seal.ErrTampered) {
		t.Fatalf("unwrap by another root: %v, want ErrTampered", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files in the directory, %v, want the root alone", len(entries), err)
	}
}

func TestFileRootHasOneMaker(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "root.key")
	ids := make([]string, racers)
	together(racers, func(i int) {
		root, err := seal.OpenFileRoot(path, seal.FileRootOptions{Create: true})
		if err != nil {
			t.Errorf("open: %v", err)
			return
		}
		ids[i] = root.ID()
	})
	for i, id := range ids {
		if id != ids[0] {
			t.Fatalf("maker %d has another root than maker 0", i)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files in the directory, %v, want the root alone", len(entries), err)
	}
}

func TestFileRootRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "root.key")
	if _, err := seal.OpenFileRoot(path, seal.FileRootOptions{Create: true}); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header, key, _ := strings.Cut(string(good), "\n")
	// edit changes one character to another that would be allowed there.
	edit := func(s string, at int) string {
		c := byte('a')
		if s[at] == 'a' {
			c = 'b'
		}
		return s[:at] + string(c) + s[at+1:]
	}
	write := func(name, text string, mode fs.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		// WriteFile's mode is subject to the umask.
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]struct {
		path string
		want error
	}{
		"group may read":  {write("0640", string(good), 0o640), seal.ErrRootMode},
		"all may read":    {write("0644", string(good), 0o644), seal.ErrRootMode},
		"owner may run":   {write("0700", string(good), 0o700), seal.ErrRootMode},
		"read only":       {write("0400", string(good), 0o400), seal.ErrRootMode},
		"set user id":     {write("4600", string(good), 0o600|fs.ModeSetuid), seal.ErrRootMode},
		"symlink":         {link, seal.ErrRootLink},
		"dangling":        {dangling, seal.ErrRootLink},
		"directory":       {dir, seal.ErrRootNotFile},
		"empty":           {write("empty", "", 0o600), seal.ErrRootTruncated},
		"cut in header":   {write("cut1", string(good[:20]), 0o600), seal.ErrRootTruncated},
		"cut in key":      {write("cut2", string(good[:len(good)-9]), 0o600), seal.ErrRootTruncated},
		"last line cut":   {write("cut3", string(good[:len(good)-1]), 0o600), seal.ErrRootTruncated},
		"longer":          {write("long", string(good)+"00", 0o600), seal.ErrRootLength},
		"much longer":     {write("longer", strings.Repeat(string(good), 99), 0o600), seal.ErrRootLength},
		"other version":   {write("v3", strings.Replace(string(good), " v2 ", " v3 ", 1), 0o600), seal.ErrRootFormat},
		"other file":      {write("pem", "-----BEGIN PRIVATE KEY-----\n", 0o600), seal.ErrRootFormat},
		"key edited":      {write("key", header+"\n"+edit(key, 5), 0o600), seal.ErrRootChecksum},
		"id edited":       {write("id", edit(header, 20)+"\n"+key, 0o600), seal.ErrRootChecksum},
		"checksum edited": {write("sum", edit(header, len(header)-3)+"\n"+key, 0o600), seal.ErrRootChecksum},
		"upper case":      {write("case", header+"\n"+strings.ToUpper(key), 0o600), seal.ErrRootChecksum},
	} {
		_, err := seal.OpenFileRoot(bad.path, seal.FileRootOptions{Create: true})
		var file *seal.RootFileError
		if !errors.Is(err, bad.want) || !errors.As(err, &file) || file.Path != bad.path {
			t.Errorf("%s: %v, want %v", name, err, bad.want)
		}
		if err != nil && strings.Contains(err.Error(), strings.TrimSpace(key)[:16]) {
			t.Errorf("%s: the error tells the key", name)
		}
	}
	if _, err := seal.OpenFileRoot(write("good", string(good), 0o600), seal.FileRootOptions{}); err != nil {
		t.Errorf("a copy: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(good, after) {
		t.Errorf("the root file changed, %v", err)
	}
	_, err = seal.OpenFileRoot(filepath.Join(dir, "no", "root.key"), seal.FileRootOptions{Create: true})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a directory that is missing: %v", err)
	}
	if _, err := seal.OpenFileRoot(filepath.Join(dir, "dry"), seal.FileRootOptions{Create: true, Rand: strings.NewReader("dry")}); err == nil {
		t.Error("a root was made without randomness")
	}
	if _, err := os.Lstat(filepath.Join(dir, "dry")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed creation left a file: %v", err)
	}
}
