package seal_test

import (
	"context"
	"strings"
	"testing"

	"github.com/annals-memory/annals/events/seal"
)

// rotatedBetween lets a whole rotation pass between the reading of a row and that of
// the key above it, once.
type rotatedBetween struct {
	seal.Rows

	prefix string
	rotate func()
}

func (o *rotatedBetween) Get(ctx context.Context, key string) (seal.Row, error) {
	row, err := o.Rows.Get(ctx, key)
	if do := o.rotate; do != nil && strings.HasPrefix(key, o.prefix) {
		o.rotate = nil
		do()
	}
	return row, err
}

// TestOvertakenByRotation: a row that was read before a rotation does not open
// under the key from after it. That is no damage: the row is another by then.
func TestOvertakenByRotation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prefix string
		rotate func(*testing.T, *seal.Keyring, seal.Scope)
		read   func(*testing.T, *seal.Keyring, seal.Scope) error
	}{
		"a record": {"k3.", func(t *testing.T, k *seal.Keyring, s seal.Scope) {
			t.Helper()
			mustDo(t, k.RotateSubject(t.Context(), s.Tenant, s.Subject))
			mustDo(t, k.FinishSubject(t.Context(), s.Tenant, s.Subject))
		}, func(t *testing.T, k *seal.Keyring, s seal.Scope) error {
			t.Helper()
			_, err := k.Record(t.Context(), s.Tenant, "r1")
			return err
		}},
		"a name": {"sid.", func(t *testing.T, k *seal.Keyring, s seal.Scope) {
			t.Helper()
			mustDo(t, k.RotateTenant(t.Context(), s.Tenant))
			mustDo(t, k.FinishTenant(t.Context(), s.Tenant))
		}, func(t *testing.T, k *seal.Keyring, s seal.Scope) error {
			t.Helper()
			sid, err := mustTenant(t, k, "acme").SubjectID(t.Context(), "maria", false)
			if err == nil && sid != s.Subject {
				t.Errorf("the subject is %s, want %s", sid, s.Subject)
			}
			return err
		}},
		"a name to drop": {"sid.", func(t *testing.T, k *seal.Keyring, s seal.Scope) {
			t.Helper()
			mustDo(t, k.RotateTenant(t.Context(), s.Tenant))
			mustDo(t, k.FinishTenant(t.Context(), s.Tenant))
		}, func(t *testing.T, k *seal.Keyring, s seal.Scope) error {
			t.Helper()
			acme := mustTenant(t, k, "acme")
			return acme.DropSubject(t.Context(), s.Subject, acme.SubjectHash("maria"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, root := seal.NewMemRows(), newRoot(t)
			ring := newRing(t, rows, root, seal.Options{})
			acme := mustTenant(t, ring, "acme")
			sid, err := acme.SubjectID(t.Context(), "maria", true)
			mustDo(t, err)
			scope := acme.Scope(sid, "procedures")
			put(t, ring, scope, "r1", "text")
			slow := newRing(t, &rotatedBetween{Rows: rows, prefix: c.prefix, rotate: func() { c.rotate(t, ring, scope) }}, root, seal.Options{CacheSize: -1})
			if err := c.read(t, slow, scope); err != nil {
				t.Fatalf("overtaken: %v", err)
			}
			if err := c.read(t, slow, scope); err != nil {
				t.Fatalf("the control: %v", err)
			}
		})
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
