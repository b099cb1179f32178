package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// The numbers of erasures on a page.
const (
	defaultErasures = 50
	// MaxErasures is the most of them.
	MaxErasures = 200
)

// ErasuresRequest asks for a page of the erasures of a tenant.
type ErasuresRequest struct {
	// Cursor goes on behind the page before.
	Cursor string `json:"cursor,omitempty"`
	// Limit is how many there are on a page, 1 to 200; nil is 50.
	Limit *int `json:"limit,omitempty"`
}

// Erasures is one page of erasures.
type Erasures struct {
	// Erasures are in the order in which their accounts were begun, newest first.
	Erasures []Status `json:"erasures"`
	// Cursor goes on behind the last of them; empty at the end.
	Cursor string `json:"cursor,omitempty"`
}

// Erasures lists the erasures of the caller's tenant by the log itself, newest
// first: also one whose answer was lost. What is begun between two pages is on
// neither of them, and nothing is on two. The roles and errors are those of
// [Eraser.Status], and an InputError.
func (e *Eraser) Erasures(ctx context.Context, caller events.Caller, req ErasuresRequest) (Erasures, error) {
	if !caller.Has(events.RoleAgent, events.RoleAuditor, events.RoleAdmin) {
		return Erasures{}, events.ErrForbidden
	}
	limit, before, err := req.page()
	if err != nil {
		return Erasures{}, err
	}
	out := Erasures{Erasures: []Status{}}
	tenant, err := e.keys.Tenant(ctx, caller.Tenant, false)
	if errors.Is(err, seal.ErrUnknownTenant) {
		return out, nil
	}
	if err != nil {
		return Erasures{}, fmt.Errorf("find tenant: %w", err)
	}
	page, more, err := e.begunAccounts.page(ctx, e.log, tenant.Token(), before, limit)
	if err != nil {
		return Erasures{}, err
	}
	for _, b := range page {
		a := accountOf(tenant.Token(), b.erasure)
		if err := e.readAccount(ctx, a); err != nil {
			return Erasures{}, err
		}
		out.Erasures = append(out.Erasures, statusOf(a))
	}
	if more {
		out.Cursor = strconv.FormatUint(page[len(page)-1].position, 10)
	}
	return out, nil
}

func (r *ErasuresRequest) page() (limit int, before uint64, err error) {
	limit = defaultErasures
	if r.Limit != nil {
		limit = *r.Limit
	}
	if limit < 1 || limit > MaxErasures {
		return 0, 0, malformed("limit", "out_of_range", "must be 1 to "+strconv.Itoa(MaxErasures))
	}
	if r.Cursor == "" {
		return limit, 0, nil
	}
	before, err = strconv.ParseUint(r.Cursor, 10, 64)
	if err != nil || before == 0 {
		return 0, 0, malformed("cursor", "bad_cursor", "must be a cursor of an answer to the same question")
	}
	return limit, before, nil
}

// begunAccounts are the accounts of the tenants that were asked about, as far as
// the log was read: an id and a position for each.
type begunAccounts struct {
	mu      sync.Mutex // guards tenants
	tenants map[string]*tenantAccounts
}

type tenantAccounts struct {
	mu   sync.Mutex // guards what follows
	list []begunAccount
	// position is the one up to which the log was read.
	position uint64
}

type begunAccount struct {
	erasure  string
	position uint64
}

func newBegunAccounts() *begunAccounts {
	return &begunAccounts{tenants: make(map[string]*tenantAccounts)}
}

// page returns the accounts that were begun before a position, 0 for the end of the
// log, newest first, and whether there are more.
func (b *begunAccounts) page(ctx context.Context, log events.KindReader, tenant string, before uint64, limit int) ([]begunAccount, bool, error) {
	b.mu.Lock()
	t := b.tenants[tenant]
	if t == nil {
		t = &tenantAccounts{}
		b.tenants[tenant] = t
	}
	b.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.read(ctx, log, tenant); err != nil {
		return nil, false, err
	}
	end := len(t.list)
	if before != 0 {
		end, _ = slices.BinarySearchFunc(t.list, before, func(a begunAccount, position uint64) int {
			if a.position < position {
				return -1
			}
			return 1
		})
	}
	page := slices.Clone(t.list[max(0, end-limit):end])
	slices.Reverse(page)
	return page, end > limit, nil
}

// read reads on.
func (t *tenantAccounts) read(ctx context.Context, log events.KindReader, tenant string) error {
	begins := map[string]bool{events.TypeErasureRequested: true}
	for m, err := range log.ReadKind(ctx, tenant, events.KindErasure, t.position) {
		if err != nil {
			return fmt.Errorf("list erasures: %w", err)
		}
		t.position = m.Position
		if !m.Header.Has(begins) {
			continue
		}
		if a, err := events.ParseSubject(m.Subject); err == nil {
			t.list = append(t.list, begunAccount{erasure: a.ID, position: m.Position})
		}
	}
	return nil
}
