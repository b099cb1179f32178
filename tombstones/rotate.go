package tombstones

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// An older copy of the key rows opens as long as one key above them is there: a
// record's, under the key of its subject and class, under the tenant's, under the
// root's. So an erasure is dead in backups when each of those was replaced and
// destroyed, from below: subjects soon after they lost a record, tenants right
// before the root, and the root by its own schedule. What is forgotten as a whole
// subject has no key of its own left to replace.

// Rotation is what decides when older copies of the keys are dead. DeadBefore is
// required.
type Rotation struct {
	// DeadBefore returns a time from before which no copy of the key rows can be
	// opened under the root, zero if there is none.
	DeadBefore func() time.Time
	// Due returns when the root's key will be replaced, zero if that is not planned.
	Due func() time.Time
	// Grace is how long other processes may go on wrapping under a key that this one
	// has replaced; 0 says that there are none.
	Grace time.Duration
	// Every is the shortest time between two rotations of subjects; 0 is ten minutes.
	Every time.Duration
}

// rotateEvery is the default of [Rotation.Every].
const rotateEvery = 10 * time.Minute

// maxSubjects is how many subjects are rotated at once.
const maxSubjects = 1_000

// rotateOn rotates the subjects of what was erased until the context ends.
func (e *Eraser) rotateOn(ctx context.Context) {
	every := e.rotation.Every
	if every <= 0 {
		every = rotateEvery
	}
	for sleep(ctx, nil, every) {
		if err := e.rotateSubjects(ctx); err != nil && ctx.Err() == nil {
			e.logger.LogAttrs(ctx, slog.LevelError, "keys of subjects are not rotated; it will be tried again",
				slog.String("cause", err.Error()))
		}
	}
}

// rotateSubjects replaces the keys of the subjects that have lost records to an
// erasure that is shredded, and enters that.
func (e *Eraser) rotateSubjects(ctx context.Context) error {
	e.rotating.Lock()
	defer e.rotating.Unlock()
	_, err := e.rotatedSubjects(ctx)
	return err
}

// PrepareRoot replaces the keys of subjects and tenants that have lost something
// since the last time. It is to be called right before the root's key is replaced:
// what was shredded before it is dead in backups behind that, see
// [Eraser.RootReplaced].
func (e *Eraser) PrepareRoot(ctx context.Context) error {
	if e.rotation == nil {
		return nil
	}
	if err := e.meet(ctx); err != nil {
		return err
	}
	e.rotating.Lock()
	defer e.rotating.Unlock()
	list, err := e.rotatedSubjects(ctx)
	if err != nil {
		return err
	}
	tenants := make(map[string][]*account)
	for _, a := range list {
		if p := progressOf(&a.state, storeRotation); p.Done < p.Planned {
			tenants[a.aggregate.Tenant] = append(tenants[a.aggregate.Tenant], a)
		}
	}
	for tenant := range tenants {
		if err := e.keys.RotateTenant(ctx, tenant); err != nil && !errors.Is(err, seal.ErrKeyDestroyed) {
			return fmt.Errorf("rotate tenant: %w", err)
		}
	}
	if err := e.quiet(ctx); err != nil {
		return err
	}
	for tenant, accounts := range tenants {
		if err := e.keys.FinishTenant(ctx, tenant); err != nil && !errors.Is(err, seal.ErrKeyDestroyed) {
			return fmt.Errorf("finish rotation of tenant: %w", err)
		}
		for _, a := range accounts {
			if err := e.enterRotated(ctx, a, func(p *events.StoreProgress) { p.Done = p.Planned }); err != nil {
				return err
			}
		}
	}
	return nil
}

// meet makes sure that every erasure of the log is known. Soon after a start Run has
// not read so far, and what it had yet to meet would wait for the root's next key.
func (e *Eraser) meet(ctx context.Context) error {
	if e.met.Load() {
		return nil
	}
	if err := e.step(ctx, newPass()); err != nil && !errors.Is(err, ErrUnfinished) {
		return fmt.Errorf("meet erasures: %w", err)
	}
	return nil
}

// RootReplaced has the background look for erasures whose backups are dead. It is to
// be called whenever a former key of the root was destroyed, and does not block.
func (e *Eraser) RootReplaced() { e.unfinished.wake() }

// rotatedSubjects does the work of rotateSubjects and returns the accounts of all
// erasures that wait for the root.
func (e *Eraser) rotatedSubjects(ctx context.Context) ([]*account, error) {
	var list []*account
	// By tenant: the subjects, and what waits for them.
	subjects := make(map[string]map[string]bool)
	due := make(map[string][]*account)
	counts := make(map[*account]int)
	// The subjects are read from the views, and what those have yet to fold would count
	// for rotated.
	if _, err := e.catchUp(ctx); err != nil {
		return nil, err
	}
	// What is shredded and not yet purged is ready for it too. An erasure goes from the
	// unfinished to the waiting, so that asked in this order none is missed.
	seen := make(map[erasureKey]bool)
	for _, k := range slices.Concat(e.unfinished.list(), e.waiting.list()) {
		if seen[k] {
			continue
		}
		seen[k] = true
		a := accountOf(k.tenant, k.erasure)
		if err := e.readAccount(ctx, a); err != nil {
			return nil, err
		}
		if !a.state.Level.AtLeast(LevelShredded) || a.state.Level.AtLeast(LevelBackupsDead) {
			continue
		}
		list = append(list, a)
		if p := progressOf(&a.state, storeRotation); p.Planned > 0 && p.Done >= p.Planned-1 {
			continue
		}
		mine, err := e.bereaved(ctx, a)
		if err != nil {
			return nil, err
		}
		if subjects[k.tenant] == nil {
			subjects[k.tenant] = make(map[string]bool)
		}
		maps.Copy(subjects[k.tenant], mine)
		counts[a] = len(mine)
		due[k.tenant] = append(due[k.tenant], a)
	}
	for tenant, accounts := range due {
		for chunk := range slices.Chunk(slices.Sorted(maps.Keys(subjects[tenant])), maxSubjects) {
			if err := e.keys.RotateSubjects(ctx, tenant, chunk...); err != nil {
				return nil, fmt.Errorf("rotate subjects: %w", err)
			}
			if err := e.quiet(ctx); err != nil {
				return nil, err
			}
			if err := e.keys.FinishSubjects(ctx, tenant, chunk...); err != nil {
				return nil, fmt.Errorf("finish rotation of subjects: %w", err)
			}
		}
		for _, a := range accounts {
			// The tenant is one more.
			n := counts[a]
			err := e.enterRotated(ctx, a, func(p *events.StoreProgress) { p.Planned, p.Done = n+1, max(p.Done, n) })
			if err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// bereaved are the subjects of the records that an erasure has ended.
func (e *Eraser) bereaved(ctx context.Context, a *account) (map[string]bool, error) {
	subjects := make(map[string]bool)
	err := e.snapshot(ctx, func(s Snapshot) error {
		for t, err := range tombstonesOf(s, a.aggregate.Tenant, a.aggregate.ID) {
			if err != nil {
				return err
			}
			if t.Kind != events.KindSubject && t.Subject != "" {
				subjects[t.Subject] = true
			}
		}
		return nil
	})
	return subjects, err
}

// quiet waits until nothing is wrapped under keys that were replaced.
func (e *Eraser) quiet(ctx context.Context) error {
	if err := e.keys.Quiesce(ctx); err != nil {
		return fmt.Errorf("rotate: %w", err)
	}
	if e.rotation.Grace > 0 && !sleep(ctx, nil, e.rotation.Grace) {
		return fmt.Errorf("rotate: %w", context.Cause(ctx))
	}
	return nil
}

func (e *Eraser) enterRotated(ctx context.Context, a *account, change func(*events.StoreProgress)) error {
	return e.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
		p := progressOf(s, storeRotation)
		change(&p)
		if p == progressOf(s, storeRotation) {
			return nil
		}
		return []events.Event{events.ErasureAdvanced{Level: s.Level, Stores: []events.StoreProgress{p}}}
	})
}

// outdated enters for every erasure that waits whether its backups are dead. It
// tells how many failed, and one of the errors.
func (e *Eraser) outdated(ctx context.Context) (failed int, last error) {
	if e.rotation == nil {
		return 0, nil
	}
	dead := e.rotation.DeadBefore()
	if dead.IsZero() || !dead.After(e.judged) {
		return 0, nil // as the last time
	}
	for _, k := range e.waiting.list() {
		a := accountOf(k.tenant, k.erasure)
		err := e.readAccount(ctx, a)
		if err == nil && !a.rotatedAt.IsZero() && a.rotatedAt.Before(dead) {
			err = e.backupsDead(ctx, a)
		}
		switch {
		case ctx.Err() != nil:
			return failed, last
		case err != nil:
			failed, last = failed+1, err
		case a.state.Level.AtLeast(LevelBackupsDead):
			e.waiting.remove(k)
		}
	}
	if failed == 0 {
		e.judged = dead
	}
	return failed, last
}

// backupsDead enters that no backup has a key of an erasure any more, and renews its
// receipt.
func (e *Eraser) backupsDead(ctx context.Context, a *account) error {
	err := e.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
		if s.Level.AtLeast(LevelBackupsDead) {
			return nil
		}
		p := progressOf(s, storeBackups)
		p.Done, p.PendingUntil = p.Planned, time.Time{}
		return []events.Event{events.ErasureAdvanced{Level: LevelBackupsDead, Stores: []events.StoreProgress{p}}}
	})
	if err != nil || e.purging == nil {
		return err
	}
	_, err = e.issue(ctx, a)
	return err
}
