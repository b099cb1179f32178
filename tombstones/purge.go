package tombstones

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/token"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// maxRound is how many messages of a tenant one round deletes. Each takes some ten
// to twenty-five milliseconds; what is left comes in the next round.
const maxRound = 1_000

// purge is one round of removing bytes, for all erasures that are shredded.
type purge struct {
	*Eraser

	list []*account
	// due are the erasures of the list.
	due map[erasureKey]bool
	// left are the messages that hold something of each erasure.
	left map[erasureKey]*remainder
	// deleted are the positions that hold nothing any more.
	deleted map[uint64]bool
	// bound is the position up to which all views had folded when they were asked,
	// and lagging says that they have not got to where the log stood before.
	bound   uint64
	lagging bool
	// more says that some were left for the next round.
	more bool
	// views is why the views still have the bytes on disk.
	views error
	// pens counts what was removed from quarantine, and stuck has the erasures of
	// which something else could not be removed.
	pens  map[erasureKey]int
	stuck map[erasureKey]bool
	// last is one of the errors.
	last error
}

// remainder is what the log has of one erasure.
type remainder struct {
	positions   map[uint64]bool
	mixed, held int
	failed      int
}

// purge removes bytes for the erasures given, which are shredded, and enters how
// far each is. It says whether there is more to delete at once.
func (e *Eraser) purge(ctx context.Context, list []*account) (more bool, err error) {
	p := &purge{
		Eraser: e, list: list, due: make(map[erasureKey]bool), left: make(map[erasureKey]*remainder),
		deleted: make(map[uint64]bool), pens: make(map[erasureKey]int), stuck: make(map[erasureKey]bool),
	}
	tenants := make(map[string]bool)
	for _, a := range list {
		p.due[a.key()] = true
		tenants[a.aggregate.Tenant] = true
	}
	for tenant, err := range e.purging.Remains.LeftoverTenants(ctx) {
		if err != nil {
			return false, fmt.Errorf("find leftovers: %w", err)
		}
		tenants[tenant] = true
	}
	if len(list) > 0 {
		// Without an anchor nobody could say later that the log was set back behind
		// what is purged now.
		if err := e.ledger.Checkpoint(ctx); err != nil {
			return false, errors.Join(fmt.Errorf("cover what is purged: %w", err), p.refuse(ctx, tenants))
		}
	}
	if len(tenants) > 0 {
		if err := p.catchUpLate(ctx); err != nil {
			return false, err
		}
	}
	for tenant := range tenants {
		if err := p.empty(ctx, tenant); err != nil {
			return false, err
		}
	}
	if err := e.purging.Remains.Settle(ctx, func(position uint64) bool { return p.deleted[position] }); err != nil {
		return false, fmt.Errorf("settle leftovers: %w", err)
	}
	if err := p.enterLate(ctx); err != nil {
		return false, err
	}
	if len(list) == 0 {
		return p.more, p.last
	}
	if p.views = e.purging.Remains.Purge(ctx); p.views != nil {
		p.fail(fmt.Errorf("purge views: %w", p.views))
	}
	p.emptyPens(ctx)
	p.collectGarbage(ctx)
	var purged []*account
	for _, a := range list {
		if err := p.enterPurged(ctx, a); err != nil {
			p.fail(err)
			continue
		}
		if a.state.Level.AtLeast(LevelPurged) {
			purged = append(purged, a)
		}
	}
	p.issueAll(ctx, purged)
	if ctx.Err() != nil {
		return false, fmt.Errorf("purge: %w", context.Cause(ctx))
	}
	return p.more, p.last
}

// refuse enters that nothing could be deleted from the log.
func (p *purge) refuse(ctx context.Context, tenants map[string]bool) error {
	for tenant := range tenants {
		if err := p.look(ctx, tenant); err != nil {
			return err
		}
	}
	for _, a := range p.list {
		k := a.key()
		r := p.left[k]
		if r == nil {
			continue
		}
		r.failed = len(r.positions)
		err := p.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
			stores := changed(s, []events.StoreProgress{p.log(s, k)})
			if len(stores) == 0 {
				return nil
			}
			return []events.Event{events.ErasureAdvanced{Level: s.Level, Stores: stores}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// issueAll makes the receipts of what has been purged, under one checkpoint.
func (p *purge) issueAll(ctx context.Context, purged []*account) {
	if len(purged) == 0 {
		return
	}
	if err := p.ledger.Checkpoint(ctx); err != nil {
		p.fail(fmt.Errorf("cover what was purged: %w", err))
		return
	}
	for _, a := range purged {
		if _, err := p.sign(ctx, a); err != nil {
			p.fail(err)
		}
	}
}

func (a *account) key() erasureKey { return erasureKey{a.aggregate.Tenant, a.aggregate.ID} }

func (p *purge) fail(err error) { p.last = err }

// empty deletes what a tenant has left in the log, up to a round's worth.
func (p *purge) empty(ctx context.Context, tenant string) error {
	if err := p.look(ctx, tenant); err != nil {
		return err
	}
	if err := p.countLate(ctx, tenant); err != nil {
		return err
	}
	work := make(map[erasureKey][]uint64)
	total, highest := 0, uint64(0)
	for k, r := range p.left {
		if k.tenant != tenant {
			continue
		}
		list := make([]uint64, 0, len(r.positions))
		for position := range r.positions {
			list = append(list, position)
		}
		slices.Sort(list)
		if room := maxRound - total; len(list) > room {
			list, p.more = list[:room], true
		}
		if len(list) == 0 {
			continue
		}
		total += len(list)
		highest = max(highest, list[len(list)-1])
		work[k] = list
	}
	if total == 0 {
		return nil
	}
	if highest > p.ledger.Covered() || len(p.list) == 0 {
		// Of what is deleted before a checkpoint covers it nobody could ever say
		// what it was. Without a list this round has made none yet.
		if err := p.ledger.Checkpoint(ctx); err != nil {
			return fmt.Errorf("cover what is deleted: %w", err)
		}
	}
	for k, list := range work {
		if err := p.deleteAll(ctx, k, list); err != nil {
			return err
		}
	}
	return nil
}

// look asks the views what a tenant has left in the log. What belongs to an erasure
// that is not shredded has to wait for that.
func (p *purge) look(ctx context.Context, tenant string) error {
	return p.snapshot(ctx, func(snap Snapshot) error {
		p.bound = snap.Position()
		for l, err := range p.purging.Remains.Leftovers(ctx, tenant) {
			if err != nil {
				return fmt.Errorf("find leftovers: %w", err)
			}
			k := erasureKey{tenant, l.Erasure}
			if !p.due[k] && p.unfinished.has(k) {
				continue
			}
			r := p.left[k]
			if r == nil {
				r = &remainder{positions: make(map[uint64]bool)}
				p.left[k] = r
			}
			switch {
			case r.positions[l.Position]:
			case snap.Held(tenant, l.Subject):
				r.held++
			case l.Mixed:
				r.mixed++
			default:
				r.positions[l.Position] = true
			}
		}
		return nil
	})
}

// deleteAll enters what is planned, names the positions in the ledger, and only
// then deletes them.
func (p *purge) deleteAll(ctx context.Context, k erasureKey, list []uint64) error {
	if err := p.plan(ctx, k); err != nil {
		return err
	}
	fresh := slices.DeleteFunc(slices.Clone(list), p.ledger.IsErased)
	if len(fresh) > 0 {
		if err := p.ledger.Erased(ctx, ledger.Erased{Tenant: k.tenant, Erasure: k.erasure, Positions: fresh}); err != nil {
			return fmt.Errorf("name what is deleted: %w", err)
		}
	}
	r := p.left[k]
	for _, position := range list {
		err := p.purging.Log.SecureDelete(ctx, position)
		if err == nil {
			p.deleted[position] = true
			delete(r.positions, position)
			continue
		}
		r.failed++
		p.fail(fmt.Errorf("delete from the log: %w", err))
		if ctx.Err() != nil || errors.Is(err, events.ErrUnavailable) {
			return p.last
		}
	}
	return nil
}

// plan enters how much there is to delete before anything is: after a crash in
// between nobody could count it.
func (p *purge) plan(ctx context.Context, k erasureKey) error {
	a := accountOf(k.tenant, k.erasure)
	if err := p.readAccount(ctx, a); err != nil {
		return err
	}
	if !a.state.Known() {
		return nil // the pass over the log begins it
	}
	return p.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
		now := p.planned(s, k)
		if progressOf(s, storeLog) == now {
			return nil
		}
		return []events.Event{events.ErasureAdvanced{Level: s.Level, Stores: []events.StoreProgress{now}}}
	})
}

// planned is the progress of the log with what is there now.
func (p *purge) planned(s *events.ErasureState, k erasureKey) events.StoreProgress {
	now := progressOf(s, storeLog)
	r := p.left[k]
	now.Planned = max(now.Planned, now.Done+len(r.positions)+r.mixed+r.held)
	return now
}

// log is the progress of the log after the deletions.
func (p *purge) log(s *events.ErasureState, k erasureKey) events.StoreProgress {
	now := progressOf(s, storeLog)
	now.Failed = 0
	r := p.left[k]
	if r == nil {
		now.Done = now.Planned
		return now
	}
	now.Planned = max(now.Planned, now.Done+len(r.positions)+r.mixed+r.held)
	now.Done, now.Failed = now.Planned-len(r.positions)-r.mixed-r.held, r.failed
	return now
}

// emptyPens removes from quarantine what the erasures ended there.
func (p *purge) emptyPens(ctx context.Context) {
	for _, a := range p.list {
		n, err := p.emptyPen(ctx, a)
		p.pens[a.key()] = n
		if err != nil {
			p.stuck[a.key()] = true
			p.fail(fmt.Errorf("empty quarantine: %w", err))
		}
	}
}

func (p *purge) emptyPen(ctx context.Context, a *account) (removed int, err error) {
	var ids []string
	subjects := make(map[string]bool)
	episodes := make(map[string]bool)
	err = p.snapshot(ctx, func(snap Snapshot) error {
		for t, err := range tombstonesOf(snap, a.aggregate.Tenant, a.aggregate.ID) {
			if err != nil {
				return err
			}
			switch t.Kind { //nolint:exhaustive // Facts are never there.
			case events.KindSubject:
				subjects[t.ID] = !snap.Held(a.aggregate.Tenant, t.ID)
			case events.KindEpisode:
				episodes[t.ID] = !snap.Held(a.aggregate.Tenant, t.Subject)
			default:
			}
		}
		return nil
	})
	if err != nil || len(subjects)+len(episodes) == 0 {
		return 0, err
	}
	for m, err := range p.purging.Quarantine.Waiting(ctx, a.aggregate.Tenant) {
		if err != nil {
			return 0, fmt.Errorf("list quarantine: %w", err)
		}
		if r, err := events.Decode(m); err == nil && (episodes[r.Aggregate.ID] || capturedOf(r.Events, subjects)) {
			ids = append(ids, r.Aggregate.ID)
		}
	}
	for _, id := range ids {
		if err := p.purging.Quarantine.Remove(ctx, a.aggregate.Tenant, id); err != nil {
			return removed, fmt.Errorf("remove from quarantine: %w", err)
		}
		removed++
	}
	return removed, nil
}

// capturedOf says whether an episode is about one of the subjects.
func capturedOf(list []events.Event, subjects map[string]bool) bool {
	return slices.ContainsFunc(list, func(ev events.Event) bool {
		c, ok := ev.(events.EpisodeCaptured)
		return ok && subjects[c.Subject]
	})
}

// collectGarbage removes the rows of keys that open nothing, which a forgotten
// subject or category leaves.
func (p *purge) collectGarbage(ctx context.Context) {
	tenants := make(map[string][]erasureKey)
	for _, a := range p.list {
		if a.state.Subject != "" {
			tenants[a.aggregate.Tenant] = append(tenants[a.aggregate.Tenant], a.key())
		}
	}
	for tenant, keys := range tenants {
		// The rows of records that were made under an idempotency key stay. They open
		// nothing and hold nothing, but they are all that is left to say that the
		// record was there: without its row the same call would write it again.
		if _, err := p.keys.Sweep(ctx, tenant, token.IsDerived); err != nil {
			for _, k := range keys {
				p.stuck[k] = true
			}
			p.fail(fmt.Errorf("sweep keys: %w", err))
		}
	}
}

// enterLate enters what was deleted for erasures that are over: a message that was
// being written when they began can come after their end.
func (p *purge) enterLate(ctx context.Context) error {
	for k := range p.left {
		if p.due[k] {
			continue
		}
		a := accountOf(k.tenant, k.erasure)
		if err := p.readAccount(ctx, a); err != nil {
			return err
		}
		if !a.state.Known() {
			continue
		}
		err := p.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
			stores := changed(s, []events.StoreProgress{p.log(s, k)})
			if len(stores) == 0 {
				return nil
			}
			return []events.Event{events.ErasureAdvanced{Level: s.Level, Stores: stores}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// enterPurged enters how far an erasure is now.
func (p *purge) enterPurged(ctx context.Context, a *account) error {
	k := a.key()
	return p.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
		log := p.log(s, k)
		records := recordsOf(s)
		pens := progressOf(s, storeQuarantine)
		pens.Done += p.pens[k]
		pens.Planned = pens.Done
		backups := progressOf(s, storeBackups)
		if backups.Planned = records; p.rotation != nil && p.rotation.Due != nil && backups.Done < records {
			backups.PendingUntil = p.rotation.Due()
		}
		stores := []events.StoreProgress{log, pens, backups}
		for _, view := range []string{storeFacts, storeMemories, storeTraces} {
			v := events.StoreProgress{Store: view, Planned: records}
			if p.views == nil {
				v.Done = records
			} else {
				v.Failed = records
			}
			stores = append(stores, v)
		}
		level := s.Level
		if p.complete(k) && !level.AtLeast(LevelPurged) {
			level = LevelPurged
		}
		stores = changed(s, stores)
		if level == s.Level && len(stores) == 0 {
			return nil
		}
		return []events.Event{events.ErasureAdvanced{Level: level, Stores: stores}}
	})
}

// complete says whether nothing of the erasure is left but what mixed commits keep.
func (p *purge) complete(k erasureKey) bool {
	if p.views != nil || p.stuck[k] {
		return false
	}
	r := p.left[k]
	return r == nil || len(r.positions)+r.held == 0
}
