package query_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/internal/nodetest"
	"github.com/annals-memory/annals/query"
	"github.com/annals-memory/annals/tombstones"
	"github.com/annals-memory/annals/tombstones/suppression"
)

// suppressing is a node that keeps values out.
type suppressing struct {
	*node

	set *suppression.Set
	x   *query.Suppressor
}

func newSuppressing(n *node) *suppressing {
	n.Helper()
	set, err := suppression.New(suppression.Config{Log: n.Events, Now: n.Clock.Now, NewID: newID})
	must(n, err)
	x, err := query.NewSuppressor(n.Service, n.Eraser, set)
	must(n, err)
	return &suppressing{node: n, set: set, x: x}
}

func (n *suppressing) keptOut(value string) bool {
	n.Helper()
	tenant, err := n.Keys.Tenant(n.Context(), "acme", false)
	must(n, err)
	kept, err := n.set.Has(n.Context(), tenant, value)
	must(n, err)
	return kept
}

// A repetition of a command keeps out what the command forgot and nothing that came
// after it, and a call that is refused keeps out nothing.
func TestSuppressRepeated(t *testing.T) {
	t.Parallel()
	filter := func(subject string) tombstones.ForgetRequest {
		return tombstones.ForgetRequest{Filter: &tombstones.Filter{Subject: subject}, Suppress: true}
	}
	for name, forget := range map[string]func(ctx context.Context, x *query.Suppressor, key string) error{
		"filter": func(ctx context.Context, x *query.Suppressor, key string) error {
			_, err := x.Forget(ctx, as(events.RoleAdmin), key, filter("maria"))
			return err
		},
		"subject": func(ctx context.Context, x *query.Suppressor, key string) error {
			_, err := x.ForgetSubject(ctx, as(events.RoleAdmin), key, "maria", "", true)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newSuppressing(inMemory(t))
			n.Tell("maria", "an old address")
			n.Tell("pedro", "a number")
			must(t, n.Views.WaitFor(t.Context(), n.End()))
			must(t, forget(t.Context(), n.x, "key"))
			if !n.keptOut("an old address") {
				t.Error("the control: what was forgotten is not kept out")
			}
			n.Tell("maria", "a new address")
			must(t, n.Views.WaitFor(t.Context(), n.End()))
			must(t, forget(t.Context(), n.x, "key"))
			if n.keptOut("a new address") {
				t.Error("a repetition keeps out what it does not forget")
			}
			if _, err := n.x.Forget(t.Context(), as(events.RoleAdmin), "key", filter("pedro")); name == "filter" && !errors.Is(err, events.ErrKeyReused) {
				t.Errorf("another command under the key: %v", err)
			}
			if name == "filter" && n.keptOut("a number") {
				t.Error("a command that is refused for its key keeps values out")
			}
			if err := forget(t.Context(), n.x, "no\nkey"); err == nil || n.keptOut("a new address") {
				t.Errorf("under what is no key: %v", err)
			}
			must(t, forget(t.Context(), n.x, "another"))
			if !n.keptOut("a new address") {
				t.Error("the control: under another key it is not kept out")
			}
		})
	}
}

// countedRows count how often keys are read.
type countedRows struct {
	seal.Rows

	reads atomic.Int64
}

func (r *countedRows) Get(ctx context.Context, key string) (seal.Row, error) {
	r.reads.Add(1)
	return r.Rows.Get(ctx, key)
}

func (r *countedRows) GetMany(ctx context.Context, keys []string) (map[string]seal.Row, error) {
	r.reads.Add(1)
	return r.Rows.GetMany(ctx, keys)
}

// The values of many records are read together.
func TestSuppressMany(t *testing.T) {
	t.Parallel()
	rows := &countedRows{Rows: seal.NewMemRows()}
	o := options(nil)
	o.Rows = rows
	n := newSuppressing(&node{nodetest.Start(t, o)})
	const many = 200
	for i := range many {
		n.Tell("maria", fmt.Sprintf("maria did %d", i))
	}
	must(t, n.Views.WaitFor(t.Context(), n.End()))
	n.Clock.Days(1) // no key is remembered
	before := rows.reads.Load()
	_, err := n.x.ForgetSubject(t.Context(), as(events.RoleAdmin), "", "maria", "", true)
	must(t, err)
	if reads := rows.reads.Load() - before; reads > many/2 {
		t.Errorf("%d reads of keys for %d records", reads, many)
	}
	for i := range many {
		if !n.keptOut(fmt.Sprintf("maria did %d", i)) {
			t.Fatalf("record %d is not kept out", i)
		}
	}
}
