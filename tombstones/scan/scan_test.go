package scan_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"

	"github.com/annals-memory/annals/tombstones/scan"
)

func run(t *testing.T, dir string, o scan.Options) *scan.Report {
	t.Helper()
	o.Random = rand.Reader
	s, err := scan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// marshal is JSON as the standard library writes it.
func marshal(t *testing.T, s string) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Each encoding is written by somebody else's encoder, with something before
// and after the word.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"Quixotic", "Zoë/Łódź \"1\" <b>", "日本語テキスト", "𝄞 clef & \\"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			n := 0
			add := func(b []byte) {
				write(t, dir, fmt.Sprintf("%02d", n), b)
				n++
			}
			add([]byte("before " + word + " after"))
			add([]byte("before " + norm.NFD.String(word) + " after"))
			add([]byte("before " + strings.ToUpper(word) + " after"))
			for before := range 4 {
				whole := []byte(strings.Repeat("<", before) + word + strings.Repeat(">", before))
				add([]byte(base64.StdEncoding.EncodeToString(whole)))
				add([]byte(base64.RawURLEncoding.EncodeToString(whole)))
			}
			add([]byte(hex.EncodeToString([]byte("x" + word + "x"))))
			add([]byte(strings.ToUpper(hex.EncodeToString([]byte("x" + word + "x")))))
			add(marshal(t, "x"+word+"x"))
			add(bytes.ReplaceAll(marshal(t, "x"+word+"x"), []byte("/"), []byte(`\/`)))
			var escaped, le, be []byte
			for _, u := range utf16.Encode([]rune("x" + word + "x")) {
				escaped = fmt.Appendf(escaped, `\u%04X`, u)
				le, be = binary.LittleEndian.AppendUint16(le, u), binary.BigEndian.AppendUint16(be, u)
			}
			add(escaped)
			add(bytes.ReplaceAll(bytes.ToLower(escaped), []byte(`\U`), []byte(`\u`)))
			add(le)
			add(be)
			add([]byte("q=" + url.QueryEscape("x"+word+"x")))
			add([]byte((&url.URL{Path: "/x" + word + "x"}).EscapedPath()))
			r := run(t, dir, scan.Options{Words: []string{"something else", word}})
			hit := map[string]bool{}
			for _, h := range r.Hits {
				hit[h.File] = h.Pattern == 1
			}
			for i := range n {
				if name := fmt.Sprintf("%02d", i); !hit[name] {
					b, _ := os.ReadFile(filepath.Join(dir, name))
					t.Errorf("missed in %q", b)
				}
			}
			if r.Files != n {
				t.Errorf("%d files of %d", r.Files, n)
			}
			if other := run(t, dir, scan.Options{Words: []string{"something else"}}); !other.Clean() {
				t.Errorf("what is not there: %+v", other)
			}
		})
	}
}

func TestVectors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	v := make([]float64, 64)
	for i := range v {
		v[i] = math.Sin(float64(i*i) + 0.5)
	}
	encode := func(part []float64, one func([]byte, float64) []byte) []byte {
		out := []byte("odd") // so that nothing is aligned
		for _, x := range part {
			out = one(out, x)
		}
		return append(out, "odd"...)
	}
	forms := map[string]func([]byte, float64) []byte{
		"float32 le": func(b []byte, x float64) []byte {
			return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
		},
		"float32 be": func(b []byte, x float64) []byte {
			return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(x)))
		},
		"float64 le": func(b []byte, x float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(x)) },
		"float64 be": func(b []byte, x float64) []byte { return binary.BigEndian.AppendUint64(b, math.Float64bits(x)) },
		"int8": func(b []byte, x float64) []byte {
			var top float64
			for _, y := range v {
				top = max(top, math.Abs(y))
			}
			return append(b, byte(int8(math.Round(x/(top/127)))))
		},
	}
	for name, one := range forms {
		write(t, dir, name+" whole", encode(v, one))
		for from := range 5 { // eight values from anywhere
			write(t, dir, fmt.Sprintf("%s %d", name, from), encode(v[20+from:28+from], one))
		}
	}
	write(t, dir, "zeros", make([]byte, 4096))
	r := run(t, dir, scan.Options{Words: []string{"word"}, Vectors: [][]float64{v}})
	hits := map[string][]scan.Hit{}
	for _, h := range r.Hits {
		hits[h.File] = append(hits[h.File], h)
	}
	for name := range forms {
		for from := range 5 {
			if file := fmt.Sprintf("%s %d", name, from); len(hits[file]) == 0 {
				t.Errorf("missed: %s", file)
			}
		}
		whole := hits[name+" whole"]
		if len(whole) != 1 || whole[0].Encoding != name || whole[0].Pattern != 1 || whole[0].Offset != 3 {
			t.Errorf("%s is not one hit: %+v", name, whole)
		}
	}
	if len(hits["zeros"]) > 0 {
		t.Errorf("in zeros: %+v", hits["zeros"])
	}
}

// A name is searched, and is not repeated in the report.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "folder-Quixotic/file-quixotic-x", []byte("nothing"))
	r := run(t, dir, scan.Options{Words: []string{"nowhere", "Quixotic"}})
	if r.Found != 2 || len(r.Hits) != 2 || r.Hits[0].In != scan.InName || r.Hits[1].File != "folder-[pattern 1]/file-[pattern 1]-x" {
		t.Errorf("%+v", r)
	}
	if strings.Contains(strings.ToLower(fmt.Sprintf("%+v", r)), "quixotic") {
		t.Errorf("the report holds the word: %+v", r)
	}
}

// What cannot be searched is not clean.
func TestUnread(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]string{
		"log/jetstream/streams/E/msgs/1.blk": "cmp\x01rest",
		"log/jetstream/streams/E/meta.key":   "key",
		"log/jetstream/streams/E/msgs/1.key": "key",
		"backup.tar.gz":                      "\x1f\x8b\x08rest",
		"backup.zst":                         "\x28\xb5\x2f\xfdrest",
		"views/x/000007.blob":                "values",
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "plain", []byte("nothing"))
			if r := run(t, dir, scan.Options{Words: []string{"word"}}); !r.Clean() {
				t.Fatalf("control: %+v", r)
			}
			write(t, dir, name, []byte(b))
			if r := run(t, dir, scan.Options{Words: []string{"word"}}); r.Clean() || len(r.Unread) != 1 || r.Unread[0].File != name {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]scan.Options{
		"short word":    {Words: []string{"long enough", "abc"}},
		"long word":     {Words: []string{"long enough", strings.Repeat("x", scan.MaxWord+1)}},
		"no UTF-8":      {Words: []string{"long enough", "\xff\xfe\xfd\xfc"}},
		"short vector":  {Vectors: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3}}},
		"no vector":     {Vectors: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}, make([]float64, 100)}},
		"no float32":    {Vectors: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 3, 4, 5, 6, 7, 1e300}}},
		"nothing wrong": {Words: []string{"word"}, Vectors: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Random = rand.Reader
			_, err := scan.New(o)
			if name == "nothing wrong" {
				if err != nil {
					t.Errorf("control: %v", err)
				}
				return
			}
			if bad, ok := errors.AsType[*scan.InputError](err); !ok || bad.Index != 1 {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := scan.New(scan.Options{Random: rand.Reader}); !errors.Is(err, scan.ErrNothing) {
		t.Errorf("nothing to look for: %v", err)
	}
}

// reversed is a format that writes its values backwards.
type reversed struct{ lossy bool }

func (reversed) Name() string { return "reversed" }

func (reversed) Has(name string) bool { return filepath.Ext(name) == ".rev" }

func (f reversed) Unpack(_ context.Context, path string, yield func([]byte) error) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if f.lossy {
		b = b[:len(b)/2]
	}
	return yield(reverse(b))
}

func (reversed) Plant(_ context.Context, dir string, values [][]byte) error {
	return os.WriteFile(filepath.Join(dir, "planted.rev"), reverse(bytes.Join(values, []byte{0})), 0o600)
}

func reverse(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		out[len(b)-1-i] = c
	}
	return out
}

// A format is read through, and one that loses something voids the scan.
func TestFormats(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.rev", reverse([]byte("here is a word")))
	if r := run(t, dir, scan.Options{Words: []string{"a word"}}); !r.Clean() {
		t.Errorf("control: found without its format: %+v", r)
	}
	r := run(t, dir, scan.Options{Words: []string{"a word"}, Formats: []scan.Format{reversed{}}})
	if r.Found != 1 || r.Unpacked != 1 || r.Hits[0].In != scan.InPieces || r.Hits[0].Offset != 8 {
		t.Errorf("%+v", r)
	}
	s, err := scan.New(scan.Options{Words: []string{"a word"}, Formats: []scan.Format{reversed{lossy: true}}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run(t.Context(), dir); !errors.Is(err, scan.ErrControl) || r != nil {
		t.Errorf("a lossy format: %+v, %v", r, err)
	}
}

// Nothing of the control stays, and what was looked for was never written.
func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "file", []byte("x"))
	run(t, dir, scan.Options{Words: []string{"word"}, Formats: []scan.Format{reversed{}}})
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil || len(names) != 2 {
		t.Errorf("%q, %v", names, err)
	}
}

// A scan whose directory is not there, or whose context has ended, is no
// result.
func TestNoResult(t *testing.T) {
	t.Parallel()
	s, err := scan.New(scan.Options{Words: []string{"word"}, Random: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Run(t.Context(), filepath.Join(t.TempDir(), "absent")); err == nil {
		t.Errorf("an absent directory: %+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := s.Run(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %+v, %v", r, err)
	}
}

// changing is a format whose files grow while they are read.
type changing struct {
	reversed

	times *int
}

func (f changing) Unpack(ctx context.Context, path string, yield func([]byte) error) error {
	if filepath.Base(path) == "grows.rev" && *f.times > 0 {
		*f.times--
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, append(reverse([]byte("a word.")), b...), 0o600); err != nil {
			return err
		}
		return yield(nil)
	}
	return f.reversed.Unpack(ctx, path, yield)
}

// What changes while it is read is read again, and does not count as searched
// if that does not end.
func TestChanges(t *testing.T) {
	t.Parallel()
	for times, settles := range map[int]bool{0: true, 2: true, 1000: false} {
		dir := t.TempDir()
		write(t, dir, "grows.rev", []byte("x"))
		left := times
		r := run(t, dir, scan.Options{Words: []string{"a word"}, Formats: []scan.Format{changing{times: &left}}})
		if r.Settled != settles || times == 2 && r.Found != 2 || times == 0 && !r.Clean() {
			t.Errorf("%d changes: %+v", times, r)
		}
	}
}
