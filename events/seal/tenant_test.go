package seal_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/annals-memory/annals/events/seal"
)

var tokenForm = regexp.MustCompile(`^[a-z2-7]{26}$`)

func TestTenantTokens(t *testing.T) {
	t.Parallel()
	rows, root := seal.NewMemRows(), newRoot(t)
	ring := newRing(t, rows, root, seal.Options{})
	if _, err := ring.Names(t.Context(), false); !errors.Is(err, seal.ErrUnknownTenant) {
		t.Fatalf("names of an empty store: %v, want ErrUnknownTenant", err)
	}
	names, err := ring.Names(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	again, err := newRing(t, rows, root, seal.Options{}).Names(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	strange, err := newRing(t, seal.NewMemRows(), root, seal.Options{}).Names(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]string)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.String().Draw(rt, "name")
		token := names.TenantToken(name)
		if !tokenForm.MatchString(token) || token != again.TenantToken(name) || token == strange.TenantToken(name) {
			rt.Fatalf("token %q of %q", token, name)
		}
		if before, ok := seen[token]; ok && before != name {
			rt.Fatalf("%q and %q share a token", before, name)
		}
		seen[token] = name
	})
	if names.TenantToken("acme") == names.TenantToken("acme-corp") || names.TenantToken("acme") == names.TenantToken("ACME") {
		t.Error("different tenants share a token")
	}
}

func TestTenantIsMadeOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	ring := newRing(t, seal.NewMemRows(), newRoot(t), seal.Options{})
	for range 2 {
		if _, err := ring.Tenant(t.Context(), "acme", false); !errors.Is(err, seal.ErrUnknownTenant) {
			t.Fatalf("unknown tenant: %v, want ErrUnknownTenant", err)
		}
		mustTenant(t, ring, "globex")
	}
	made := mustTenant(t, ring, "acme")
	found, err := ring.Tenant(t.Context(), "acme", false)
	if err != nil || found.Token() != made.Token() {
		t.Fatalf("known tenant: %v", err)
	}
	if _, err := ring.Tenant(t.Context(), "", true); !errors.Is(err, seal.ErrEmptyName) {
		t.Errorf("tenant without a name: %v, want ErrEmptyName", err)
	}
	if _, err := ring.TenantByToken(t.Context(), "acme"); !errors.Is(err, seal.ErrBadToken) {
		t.Errorf("name as a token: %v, want ErrBadToken", err)
	}
	byToken, err := ring.TenantByToken(t.Context(), made.Token())
	if err != nil || byToken.Hash("a", "b") != made.Hash("a", "b") || !bytes.Equal(byToken.TermKey(), made.TermKey()) {
		t.Errorf("tenant by token differs: %v", err)
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	other := mustTenant(t, w.ring, "globex")
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringMatching(`[ab\x00\x01\x02]{0,3}`)
		f1, v1, f2, v2 := part.Draw(rt, "f1"), part.Draw(rt, "v1"), part.Draw(rt, "f2"), part.Draw(rt, "v2")
		h1, h2 := w.tenant.Hash(f1, v1), w.tenant.Hash(f2, v2)
		if !tokenForm.MatchString(h1) || (h1 == h2) != (f1 == f2 && v1 == v2) {
			rt.Fatalf("hash of %q, %q is %s; of %q, %q is %s", f1, v1, h1, f2, v2, h2)
		}
		if h1 == other.Hash(f1, v1) {
			rt.Fatal("two tenants share a hash")
		}
	})
	key := w.tenant.TermKey()
	if len(key) != seal.KeySize || bytes.Equal(key, other.TermKey()) {
		t.Error("term key is not 32 bytes of the tenant's own")
	}
	clear(key)
	if bytes.Equal(key, w.tenant.TermKey()) {
		t.Error("term key is not a copy")
	}
}

func TestSubjectIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	ctx := t.Context()
	if _, err := w.tenant.SubjectID(ctx, "bob", false); !errors.Is(err, seal.ErrUnknownSubject) {
		t.Fatalf("unknown subject: %v, want ErrUnknownSubject", err)
	}
	if _, err := w.tenant.SubjectID(ctx, "", true); !errors.Is(err, seal.ErrEmptyName) {
		t.Fatalf("subject without a name: %v, want ErrEmptyName", err)
	}
	bob := mustSubject(t, w.tenant, "bob")
	if !tokenForm.MatchString(bob) || bob == w.sid || bob == seal.Nobody {
		t.Fatalf("subject id %q", bob)
	}
	if again := mustSubject(t, w.tenant, "bob"); again != bob {
		t.Fatalf("the same name gives %q and %q", bob, again)
	}
	if other := mustSubject(t, mustTenant(t, w.ring, "globex"), "bob"); other == bob {
		t.Fatal("two tenants share a subject id")
	}
	// The two spellings of an e with an acute accent are one name.
	if mustSubject(t, w.tenant, "Ren\u00e9") != mustSubject(t, w.tenant, "Rene\u0301") {
		t.Error("normalization forms are told apart")
	}
	if w.tenant.ClassToken("sant\u00e9") != w.tenant.ClassToken("sante\u0301") {
		t.Error("normalization forms of a category are told apart")
	}
	if mustSubject(t, w.tenant, "Rene") == mustSubject(t, w.tenant, "rene") {
		t.Error("case is not told apart")
	}
	for row, err := range w.rows.List(ctx, "") {
		if err != nil || strings.Contains(row.Key+string(row.Value), "bob") || bytes.Contains(row.Value, []byte(bob)) {
			t.Fatalf("row %s tells a name or an id, %v", row.Key, err)
		}
	}
}

func TestDropSubject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	bob := mustSubject(t, w.tenant, "bob")
	hash := w.tenant.SubjectHash("ada")
	// Someone else's id drops nothing.
	if err := w.tenant.DropSubject(t.Context(), bob, hash); err != nil {
		t.Fatal(err)
	}
	if got := mustSubject(t, w.tenant, "ada"); got != w.sid {
		t.Fatal("the name was dropped for another id")
	}
	for range 2 {
		if err := w.tenant.DropSubject(t.Context(), w.sid, hash); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.tenant.SubjectID(t.Context(), "ada", false); !errors.Is(err, seal.ErrUnknownSubject) {
		t.Fatalf("dropped subject: %v, want ErrUnknownSubject", err)
	}
	if fresh := mustSubject(t, w.tenant, "ada"); fresh == w.sid {
		t.Fatal("a dropped name got its old id back")
	}
	if got := mustSubject(t, w.tenant, "bob"); got != bob {
		t.Fatal("the neighbour's id changed")
	}
	if err := w.tenant.DropSubject(t.Context(), w.sid, "ada"); !errors.Is(err, seal.ErrBadToken) {
		t.Fatalf("name as a hash: %v, want ErrBadToken", err)
	}
}

func TestLostInstanceKeyIsNotAFreshStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, seal.Options{})
	if err := w.rows.Destroy(t.Context(), "names"); err != nil {
		t.Fatal(err)
	}
	for _, create := range []bool{true, false} {
		_, err := newRing(t, w.rows, w.root, seal.Options{}).Tenant(t.Context(), "acme", create)
		var destroyed *seal.KeyDestroyedError
		if !errors.As(err, &destroyed) || destroyed.Level != seal.LevelInstance {
			t.Fatalf("tenant without an instance key: %v, want the instance key destroyed", err)
		}
	}
	for row, err := range w.rows.List(t.Context(), "names") {
		if err != nil {
			t.Fatal(err)
		}
		t.Fatalf("row %s was made", row.Key)
	}
}
