package projectors

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"
)

// Leftover is a message of the log that still holds sealed content of what was forgotten.
type Leftover struct {
	// Tenant is the token of the tenant, Subject the id of the subject whose content it is.
	Tenant, Subject string
	// Erasure is that of the tombstone that ended the content, as far as 255 bytes.
	Erasure string
	// Position is that of the message.
	Position uint64
	// Mixed is set while the message also tells of something that is not forgotten. Deleting it would lose that.
	Mixed bool
}

// Leftovers yields the leftovers of a tenant that the serving views know, view by view in the order of the log, each position
// and erasure once. It ends after the first error. A view knows of a leftover once it has folded the tombstone, or, if the
// message came after that, the message itself. What is parked is among them, except where nothing tells whose it is: a damaged
// message of the vectors and traces that a tenant's records share, and of an episode or a slot of which nothing else is here.
// Neither is what was gone from the log when the view was built.
//
// What is left to clear of forgotten subjects it clears first: that is what the leftovers are made of.
//
// They should be deleted from the highest position down: a retraction whose proposal is gone already is not known for its
// subject's when the view is built anew.
func (v *Views) Leftovers(ctx context.Context, tenant string) iter.Seq2[Leftover, error] {
	return func(yield func(Leftover, error) bool) {
		for _, l := range v.lanes {
			if err := l.clear(ctx); err != nil {
				yield(Leftover{}, err)
				return
			}
			var from []byte
			for {
				list, next, err := l.leftovers(ctx, tenant, from)
				if err != nil {
					yield(Leftover{}, err)
					return
				}
				for _, left := range list {
					if !yield(left, nil) {
						return
					}
				}
				if next == nil {
					break
				}
				from = next
			}
		}
	}
}

// LeftoverTenants yields the tokens of the tenants that have leftovers, each once. It ends after the first error. It costs a
// few reads for each tenant that has some, and next to nothing if none has.
func (v *Views) LeftoverTenants(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := make(map[string]bool)
		for _, l := range v.lanes {
			if err := l.clear(ctx); err != nil {
				yield("", err)
				return
			}
			from := []byte{sortLeftover}
			for {
				tenant, err := l.leftoverTenant(ctx, from)
				if err != nil {
					yield("", err)
					return
				}
				if tenant == "" {
					break
				}
				if !seen[tenant] && !yield(tenant, nil) {
					return
				}
				seen[tenant] = true
				from = after(leftoversOf(tenant))
			}
		}
	}
}

// Settle removes the leftovers at positions that hold nothing any more, as erased tells, and lets go of what was parked there.
// They come back only if a view is lost before it is written out, or if it is built anew from a log that still has the
// messages; settling again is harmless. Nothing else removes leftovers. No digest depends on it.
func (v *Views) Settle(ctx context.Context, erased func(position uint64) bool) error {
	for _, l := range v.lanes {
		if err := l.settle(ctx, erased); err != nil {
			return fmt.Errorf("settle %s: %w", l.spec.name, err)
		}
	}
	return nil
}

// leftovers returns one page, and where the next one begins, nil if there is none.
func (l *lane) leftovers(ctx context.Context, tenant string, from []byte) (list []Leftover, next []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("list leftovers: %w", err)
	}
	held, err := l.acquire()
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	err = scan(held.db, leftoversOf(tenant), from, func(k, value []byte) (bool, error) {
		if len(list) == page {
			next = append(next, k...)
			return false, nil
		}
		left, err := decodeLeftover(k, value)
		if err != nil {
			return false, err
		}
		left.Mixed, err = has(held.db, companyKey(tenant, left.Position))
		list = append(list, left)
		return true, err
	})
	return list, next, err
}

func decodeLeftover(k, value []byte) (Leftover, error) {
	tenant, rest, ok := cutPart(k[1:])
	if !ok {
		return Leftover{}, errRow(sortLeftover)
	}
	position, ok := cutPosition(rest)
	if !ok {
		return Leftover{}, errRow(sortLeftover)
	}
	erasure, _, ok := cutPart(rest[positionLen:])
	if !ok {
		return Leftover{}, errRow(sortLeftover)
	}
	return Leftover{Tenant: tenant, Subject: string(value), Erasure: erasure, Position: position}, nil
}

// leftoverTenant returns the first tenant with leftovers at or after a key, "" if there is none.
func (l *lane) leftoverTenant(ctx context.Context, from []byte) (tenant string, err error) {
	if err := ctx.Err(); err != nil {
		return "", fmt.Errorf("list leftovers: %w", err)
	}
	held, err := l.acquire()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	err = scan(held.db, []byte{sortLeftover}, from, func(k, _ []byte) (bool, error) {
		t, _, ok := cutPart(k[1:])
		if !ok {
			return false, errRow(sortLeftover)
		}
		tenant = t
		return false, nil
	})
	return tenant, err
}

func (l *lane) settle(ctx context.Context, erased func(position uint64) bool) error {
	if err := l.settleParked(ctx, erased); err != nil {
		return err
	}
	from := []byte{sortLeftover}
	for from != nil {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("settle leftovers: %w", err)
		}
		next, err := l.settlePage(from, erased)
		if err != nil {
			return err
		}
		from = next
	}
	return nil
}

// settleParked lets go of what was parked at positions that hold nothing any more. It comes before the leftovers go, by which a
// crash in between is made good.
func (l *lane) settleParked(ctx context.Context, erased func(position uint64) bool) error {
	l.folding.Lock()
	defer l.folding.Unlock()
	if err := l.ensure(ctx); err != nil {
		return err
	}
	if l.engine.state.parked == 0 {
		return nil
	}
	err := l.engine.unparkAll(ctx, erased)
	if err != nil {
		l.engine = nil
	}
	return err
}

// settlePage goes through one page, with the fold held, and returns where the next one begins.
func (l *lane) settlePage(from []byte, erased func(position uint64) bool) (next []byte, err error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	held, err := l.acquire()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	b := held.db.NewBatch()
	defer closeInto(b, &err)
	n := 0
	err = scan(held.db, []byte{sortLeftover}, from, func(k, value []byte) (bool, error) {
		if n == page {
			next = append(next, k...)
			return false, nil
		}
		n++
		left, err := decodeLeftover(k, value)
		if err != nil || !erased(left.Position) {
			return true, err
		}
		return true, deleteRow(b, k)
	})
	if err != nil {
		return nil, err
	}
	if err := held.db.Apply(b, pebble.NoSync); err != nil {
		return nil, fmt.Errorf("apply batch: %w", err)
	}
	return next, nil
}
