package node_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/annals-memory/annals/cmd/annals/internal/node"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// spoil changes files of a node that is closed.
type spoil func(dir string) error

// copyOf is a copy of a directory, whose files nobody else can read.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	err := errors.Join(os.CopyFS(to, os.DirFS(dir)), filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			err = os.Chmod(path, 0o600)
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// opensAs opens what was spoilt: as an error, and as a server in recovery mode.
func opensAs(t *testing.T, dir string) (*ledger.DamageError, error) {
	t.Helper()
	n, err := node.Open(context.Background(), node.Options{Data: dir, Durability: "process"})
	if err == nil {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		return nil, nil
	}
	d, is := ledger.AsDamage(err)
	if !is {
		return nil, err
	}
	if n, err = node.Open(context.Background(), node.Options{Data: dir, Durability: "process", Recover: true}); err != nil {
		t.Fatalf("no recovery mode: %v", err)
	}
	f := &fixture{Node: n, t: t, dir: dir, stop: n.Start(context.Background())}
	a := f.do("", http.MethodGet, "/readyz", nil, http.StatusServiceUnavailable)
	if get[string](a, "code") != "recovery" || f.Damage() == nil || f.Damage().Kind != d.Kind {
		t.Errorf("recovery mode says %s of %v", a.body, f.Damage())
	}
	f.do(f.LocalToken(), http.MethodPost, "/v1/episodes", obj{"subject": "a", "text": "b", "source": obj{"kind": "chat", "ref": "r"}}, http.StatusServiceUnavailable)
	f.close()
	return d, err
}

// What is wrong with the keys is found before anything is served, and when it is
// put right everything is there.
func TestDamagedKeys(t *testing.T) {
	t.Parallel()
	f := open(t)
	token := f.token("acme")
	kept := f.capture(token, "maria", "She lives in Porto.")
	f.settle()
	f.close()
	keys := filepath.Join("log", "jetstream", "$G", "streams", "KEYS")
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(filepath.Join(f.dir, keys))); err != nil {
		t.Fatal(err)
	}
	f.start()
	gone := f.capture(token, "maria", "She likes plums.")
	f.do(token, http.MethodDelete, "/v1/episodes/"+gone, nil, http.StatusAccepted)
	f.settle()
	f.close()

	block := func(change func([]byte) []byte) spoil {
		return func(dir string) error {
			file := filepath.Join(dir, keys, "msgs", "1.blk")
			b, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, change(b), 0o600))
		}
	}
	older := func(dir string) error {
		return errors.Join(os.RemoveAll(filepath.Join(dir, keys)), os.CopyFS(filepath.Join(dir, keys), os.DirFS(old)))
	}
	for name, do := range map[string]spoil{
		"emptied":                   block(func([]byte) []byte { return nil }),
		"cut":                       block(func(b []byte) []byte { return b[:len(b)/2] }),
		"flipped":                   block(func(b []byte) []byte { b[60] ^= 1; return b }),
		"a sequence that cannot be": block(func(b []byte) []byte { b[10] ^= 1; return b }),
		"deleted":                   func(dir string) error { return os.Remove(filepath.Join(dir, keys, "msgs", "1.blk")) },
		"an older copy":             older,
		"an older block": func(dir string) error {
			b, err := os.ReadFile(filepath.Join(old, "msgs", "1.blk"))
			return errors.Join(err, os.WriteFile(filepath.Join(dir, keys, "msgs", "1.blk"), b, 0o600))
		},
	} {
		for _, index := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := copyOf(t, f.dir)
				if err := do(dir); err != nil {
					t.Fatal(err)
				}
				if !index {
					if err := os.Remove(filepath.Join(dir, keys, "msgs", "index.db")); err != nil {
						t.Fatal(err)
					}
				}
				d, err := opensAs(t, dir)
				again := &fixture{t: t, dir: dir, options: node.Options{Data: dir, Durability: "process"}}
				reads := func() {
					again.start()
					again.settle()
					again.do(token, http.MethodGet, "/v1/episodes/"+kept, nil, http.StatusOK)
					again.do(token, http.MethodGet, "/v1/episodes/"+gone, nil, http.StatusGone)
					again.close()
				}
				if name == "an older block" && d == nil && err == nil {
					reads() // the server's index knows what there is, and no row is missing
					return
				}
				if d == nil || !strings.Contains(d.Error(), "KEYS") {
					t.Fatalf("opened: %v %v", d, err)
				}
				// The control: put back, it is all there.
				if err := errors.Join(os.RemoveAll(filepath.Join(dir, "log")), os.CopyFS(filepath.Join(dir, "log"), os.DirFS(filepath.Join(f.dir, "log")))); err != nil {
					t.Fatal(err)
				}
				reads()
			})
		}
	}
}

// A directory whose log and anchor are gone is no first start as long as anything
// says that there was a log.
func TestLogAndAnchorGone(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.capture(f.LocalToken(), "maria", "She lives in Porto.")
	f.settle()
	f.close()
	gone := []string{"log", "anchor", "ledger.key", "ledger.pub"}
	evidence := []string{"views", "root.key", "log.place", "embedder"}
	for _, left := range append(evidence, "all", "nothing") {
		t.Run(left, func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, f.dir)
			remove := gone
			for _, name := range evidence {
				if left != "all" && left != name {
					remove = append(slices.Clip(remove), name)
				}
			}
			for _, name := range remove {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			d, err := opensAs(t, dir)
			switch {
			case left == "nothing" && (d != nil || err != nil):
				t.Errorf("a first start: %v %v", d, err)
			case left != "nothing" && (d == nil || d.Kind != ledger.KindStreamMissing):
				t.Errorf("opened: %v %v", d, err)
			}
		})
	}
}

// Junk in the files that say what the log is held to.
func TestJunkBesideTheLog(t *testing.T) {
	t.Parallel()
	f := open(t)
	f.capture(f.LocalToken(), "maria", "She lives in Porto.")
	f.settle()
	f.close()
	const junk = "\x1b[31mPRIVATE\x00\xff\n\x07"
	for name, want := range map[string]ledger.Kind{
		"ledger.key": ledger.KindKeyInvalid, "ledger.pub": ledger.KindKeyInvalid, "anchor": ledger.KindAnchorInvalid, "log.place": "",
	} {
		for _, text := range []string{junk, ""} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir := copyOf(t, f.dir)
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				d, err := opensAs(t, dir)
				said := ""
				switch {
				case want != "" && (d == nil || d.Kind != want):
					t.Fatalf("opened: %v %v", d, err)
				case want != "":
					said = d.Error()
				case !errors.Is(err, node.ErrBadPlace):
					t.Fatalf("opened: %v %v", d, err)
				default:
					said = err.Error()
				}
				if strings.Contains(said, "PRIVATE") || strings.ContainsFunc(said, unicode.IsControl) {
					t.Errorf("it says %q", said)
				}
			})
		}
	}
}
