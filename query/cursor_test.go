package query

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

func tenants(t *testing.T, names ...string) []*seal.Tenant {
	t.Helper()
	root, err := seal.OpenFileRoot(t.TempDir()+"/root", seal.FileRootOptions{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := seal.New(seal.NewMemRows(), root, seal.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*seal.Tenant, len(names))
	for i, name := range names {
		if out[i], err = ring.Tenant(t.Context(), name, true); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestCursor(t *testing.T) {
	t.Parallel()
	ts := tenants(t, "acme", "acme-corp")
	const question, after = "facts\x00a", "row\x00key\xff"
	c := encodeCursor(ts[0], question, after)
	got, err := decodeCursor(ts[0], question, c)
	if err != nil || got != after {
		t.Fatalf("got %q, %v", got, err)
	}
	if encodeCursor(ts[0], question, "") != "" {
		t.Error("the end has a cursor")
	}
	refused := map[string]func() (string, error){
		"another tenant":   func() (string, error) { return decodeCursor(ts[1], question, c) },
		"another question": func() (string, error) { return decodeCursor(ts[0], question+"b", c) },
		"cut":              func() (string, error) { return decodeCursor(ts[0], question, c[:len(c)-1]) },
		"long":             func() (string, error) { return decodeCursor(ts[0], question, strings.Repeat("a", maxCursor+1)) },
		"rubbish":          func() (string, error) { return decodeCursor(ts[0], question, "🦊") },
		"unsigned": func() (string, error) {
			return decodeCursor(ts[0], question, base64.RawURLEncoding.EncodeToString([]byte("x\x00y"))+".")
		},
	}
	for name, f := range refused {
		_, err := f()
		in, ok := errors.AsType[*events.InputError](err)
		if !ok || in.Code != "bad_cursor" || in.Kind != events.Malformed {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range c {
		edited := []byte(c)
		edited[i] ^= 1
		if _, err := decodeCursor(ts[0], question, string(edited)); err == nil {
			t.Errorf("a cursor with character %d edited was taken", i)
		}
	}
}

func FuzzDecodeCursor(f *testing.F) {
	root, err := seal.OpenFileRoot(f.TempDir()+"/root", seal.FileRootOptions{Create: true})
	if err != nil {
		f.Fatal(err)
	}
	ring, err := seal.New(seal.NewMemRows(), root, seal.Options{Now: time.Now})
	if err != nil {
		f.Fatal(err)
	}
	tenant, err := ring.Tenant(f.Context(), "t", true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encodeCursor(tenant, "q", "after"))
	f.Add("")
	f.Add(".")
	f.Fuzz(func(t *testing.T, c string) {
		after, err := decodeCursor(tenant, "q", c)
		if err == nil && c != "" && encodeCursor(tenant, "q", after) != c {
			t.Fatal("a cursor that was not made here was taken")
		}
	})
}
