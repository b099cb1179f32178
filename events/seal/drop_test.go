package seal_test

import (
	"context"
	"testing"
	"time"

	"github.com/annals-memory/annals/events/seal"
)

// overtaken lets something happen between the last look at a row and its end.
type overtaken struct {
	seal.Rows

	before func()
}

func (o *overtaken) DestroyAt(ctx context.Context, row seal.Row) error {
	if b := o.before; b != nil {
		o.before = nil
		b()
	}
	return o.Rows.DestroyAt(ctx, row)
}

// A name that somebody else drops and uses again, while it is being dropped,
// stays that of its next subject: whoever forgets by name must find it.
func TestDropSubjectSparesTheNextOne(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(context.Context, *seal.Tenant, string) error{
		"by name": func(ctx context.Context, tn *seal.Tenant, sid string) error {
			return tn.DropSubject(ctx, sid, tn.SubjectHash("maria"))
		},
		"by id": func(ctx context.Context, tn *seal.Tenant, sid string) error { return tn.DropSubjectID(ctx, sid) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			rows := &overtaken{Rows: seal.NewMemRows()}
			root, err := seal.OpenFileRoot(t.TempDir()+"/root", seal.FileRootOptions{Create: true})
			if err != nil {
				t.Fatal(err)
			}
			ring, err := seal.New(rows, root, seal.Options{Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			tenant, err := ring.Tenant(ctx, "acme", true)
			if err != nil {
				t.Fatal(err)
			}
			id := func() string {
				t.Helper()
				sid, err := tenant.SubjectID(ctx, "maria", true)
				if err != nil {
					t.Fatal(err)
				}
				return sid
			}
			first, second := id(), ""
			rows.before = func() {
				if err := tenant.DropSubject(ctx, first, tenant.SubjectHash("maria")); err != nil {
					t.Error(err)
				}
				second = id()
			}
			if err := drop(ctx, tenant, first); err != nil {
				t.Fatal(err)
			}
			if got, err := tenant.SubjectID(ctx, "maria", false); err != nil || got != second || second == first {
				t.Fatalf("the name stands for %q, %v; want %q, and not %q", got, err, second, first)
			}
		})
	}
}
