package auth_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/annals-memory/annals/cmd/annals/internal/auth"
	"github.com/annals-memory/annals/events"
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// the tenant is the credential's, and only a credential that this key
// signed, for us, now, says anything.
func TestVerify(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	key, local := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	a := auth.New(key, local, at(now))
	want := events.Caller{
		Tenant: "acme", Principal: "agent-7", Roles: []events.Role{events.RoleAgent}, Trust: events.TrustAgent,
	}
	good, err := a.Issue(want, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	got, err := a.Verify(good)
	if err != nil || !cmp.Equal(got, want) {
		t.Fatalf("a good token gave %v, %v", got, err)
	}
	if got, err := a.Verify(auth.LocalToken(local)); err != nil || got.Tenant != auth.LocalTenant {
		t.Fatalf("the local token gave %v, %v", got, err)
	}
	sign := func(m jwt.SigningMethod, k any, change func(jwt.MapClaims)) string {
		c := jwt.MapClaims{
			"iss": "annals", "aud": []string{"annals"}, "sub": "agent-7", "tenant": "acme",
			"roles": []string{"agent"}, "trust": "agent", "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		}
		change(c)
		s, err := jwt.NewWithClaims(m, c).SignedString(k)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hs := jwt.SigningMethodHS256
	same := func(jwt.MapClaims) {}
	if _, err := a.Verify(sign(hs, key, same)); err != nil {
		t.Fatalf("control: %v", err)
	}
	for name, token := range map[string]string{
		"other key":      sign(hs, bytes.Repeat([]byte{9}, 32), same),
		"alg none":       sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, same),
		"alg HS512":      sign(jwt.SigningMethodHS512, key, same),
		"expired":        sign(hs, key, func(c jwt.MapClaims) { c["exp"] = now.Add(-time.Minute).Unix() }),
		"no expiry":      sign(hs, key, func(c jwt.MapClaims) { delete(c, "exp") }),
		"not yet":        sign(hs, key, func(c jwt.MapClaims) { c["nbf"] = now.Add(time.Hour).Unix() }),
		"no nbf":         sign(hs, key, func(c jwt.MapClaims) { delete(c, "nbf") }),
		"other issuer":   sign(hs, key, func(c jwt.MapClaims) { c["iss"] = "else" }),
		"other audience": sign(hs, key, func(c jwt.MapClaims) { c["aud"] = "else" }),
		"no tenant":      sign(hs, key, func(c jwt.MapClaims) { delete(c, "tenant") }),
		"no subject":     sign(hs, key, func(c jwt.MapClaims) { delete(c, "sub") }),
		"no roles":       sign(hs, key, func(c jwt.MapClaims) { delete(c, "roles") }),
		"unknown role":   sign(hs, key, func(c jwt.MapClaims) { c["roles"] = []string{"root"} }),
		"unknown trust":  sign(hs, key, func(c jwt.MapClaims) { c["trust"] = "absolute" }),
		"cut":            good[:len(good)-2],
		"huge":           good + strings.Repeat("a", 9<<10),
		"other local":    auth.LocalToken(bytes.Repeat([]byte{3}, 32)),
	} {
		if _, err := a.Verify(token); !errors.Is(err, auth.ErrBadCredential) {
			t.Errorf("%s: %v, want a bad credential", name, err)
		}
	}
	if _, err := a.Verify(""); !errors.Is(err, auth.ErrNoCredential) {
		t.Errorf("no token: %v", err)
	}
}

func TestSecretFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "auth.key")
	var wg sync.WaitGroup
	got := make([][]byte, 16)
	for i := range got {
		wg.Go(func() {
			s, err := auth.LoadOrCreateSecret(path, rand.Reader)
			if err != nil {
				t.Error(err)
			}
			got[i] = s
		})
	}
	wg.Wait()
	for _, s := range got {
		if !bytes.Equal(s, got[0]) || len(s) != 32 {
			t.Fatal("racing creators see different secrets")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("left behind: %v, %v", entries, err)
	}
	for name, spoil := range map[string]func(p string) error{
		"readable by others": func(p string) error { return os.Chmod(p, 0o644) },
		"cut short":          func(p string) error { return os.WriteFile(p, []byte("abcd"), 0o600) },
		"empty":              func(p string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		p := filepath.Join(t.TempDir(), "k")
		if err := os.WriteFile(p, []byte(base64.StdEncoding.EncodeToString(got[0])), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := auth.LoadOrCreateSecret(p, rand.Reader); err != nil {
			t.Fatalf("control: %v", err)
		}
		if err := spoil(p); err != nil {
			t.Fatal(err)
		}
		if _, err := auth.LoadOrCreateSecret(p, rand.Reader); !errors.Is(err, auth.ErrKeyFile) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}
