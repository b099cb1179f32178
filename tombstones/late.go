package tombstones

import (
	"context"
	"errors"
	"fmt"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// lateRecord is a record of a subject that was forgotten as a whole whose commit
// came into the log behind the tombstone.
type lateRecord struct {
	target

	// at is the position of that commit.
	at uint64
}

// catchUpLate waits until the views have all that is in the log now, so that what
// came late is among what they know to be left. Views that do not get there put
// it off.
func (p *purge) catchUpLate(ctx context.Context) error {
	switch _, err := p.catchUp(ctx); {
	case errors.Is(err, events.ErrBehind):
		p.lagging = true
		return nil
	default:
		return err
	}
}

// countLate gives every record that came late a tombstone of its own and enters
// how many there were, before their messages are deleted: after that nobody could
// tell. Nothing is deleted of an erasure whose account is not begun. What lies behind the position up to which all views have folded has to
// wait, for another view may know of more below it.
func (p *purge) countLate(ctx context.Context, tenant string) error {
	for k, r := range p.left {
		if k.tenant != tenant || len(r.positions) == 0 {
			continue
		}
		a := accountOf(k.tenant, k.erasure)
		if err := p.readAccount(ctx, a); err != nil {
			return err
		}
		if !a.state.Known() {
			// What its account will say is counted by these messages.
			r.held += len(r.positions)
			clear(r.positions)
			continue
		}
		if a.state.Scope != scopeSubject {
			continue
		}
		if err := p.late(ctx, a, r); err != nil {
			return err
		}
	}
	return nil
}

func (p *purge) late(ctx context.Context, a *account, r *remainder) error {
	var list []lateRecord
	for position := range r.positions {
		switch {
		case position <= a.state.Tombstone, position <= a.state.Late.UpTo && position <= p.bound:
			continue
		case position > p.bound:
			delete(r.positions, position)
			r.held++
			p.more = p.more || !p.lagging
			continue
		}
		found, err := p.recordsAt(ctx, a, position)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	if len(list) == 0 {
		return nil
	}
	if err := p.buryLate(ctx, a, list); err != nil {
		return err
	}
	return p.enter(ctx, a.state.Principal, a, func(s *events.ErasureState) []events.Event {
		n := 0
		for i := range list {
			if list[i].at > s.Late.UpTo {
				n++
			}
		}
		if n == 0 {
			return nil
		}
		return []events.Event{events.ErasureAdvanced{
			Level: s.Level, Late: &events.LateRecords{Records: s.Late.Records + n, UpTo: p.bound},
		}}
	})
}

// recordsAt are the records of the subject that a message begins. What cannot be
// read begins none: it was acknowledged to nobody, or is gone.
func (e *Eraser) recordsAt(ctx context.Context, a *account, position uint64) ([]lateRecord, error) {
	m, err := e.log.MessageAt(ctx, position)
	if errors.Is(err, events.ErrNoCommits) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what came late: %w", err)
	}
	rec, err := events.Decode(m)
	if err != nil {
		return nil, nil //nolint:nilerr // The views report it.
	}
	var list []lateRecord
	for _, ev := range rec.Events {
		r := Record{Kind: rec.Aggregate.Kind, Aggregate: rec.Aggregate.ID, Subject: a.state.Subject}
		switch ev := ev.(type) {
		case events.EpisodeCaptured:
			if ev.Subject != a.state.Subject {
				continue
			}
			r.ID = rec.Aggregate.ID
		case events.FactProposed:
			if ev.Subject != a.state.Subject {
				continue
			}
			r.ID = ev.Fact
		default:
			continue
		}
		list = append(list, lateRecord{target: target{Record: r}, at: position})
	}
	return list, nil
}

// buryLate gives records a tombstone of the erasure. It outlives their messages:
// who was told that they are there is told by it that they were forgotten.
func (e *Eraser) buryLate(ctx context.Context, a *account, list []lateRecord) error {
	tenant, err := e.keys.TenantByToken(ctx, a.aggregate.Tenant)
	if errors.Is(err, seal.ErrKeyDestroyed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find tenant: %w", err)
	}
	j := &job{tenant: tenant, token: a.aggregate.Tenant, principal: a.state.Principal, erasure: a.aggregate.ID}
	targets := make([]target, len(list))
	for i := range list {
		targets[i] = list[i].target
	}
	episodes, facts := parted(targets)
	if err := e.buryEpisodes(ctx, j, episodes); err != nil {
		return err
	}
	graves, err := e.buryFacts(ctx, j, facts)
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return err
	}
	for _, t := range episodes {
		if t.erasure == j.erasure {
			graves = append(graves, graveOf(j.token, t))
		}
	}
	if e.ledger == nil || len(graves) == 0 {
		return nil
	}
	if err := e.ledger.Record(ctx, graves); err != nil {
		return fmt.Errorf("copy tombstones: %w", err)
	}
	return nil
}

// recordsOf is how many records an erasure has ended: those whose keys were
// destroyed one by one, or with their subject.
func recordsOf(s *events.ErasureState) int {
	keys := progressOf(s, storeKeys).Planned
	if s.Scope != scopeSubject || keys == 0 {
		return keys
	}
	return keys - 1 + s.Matched + s.Late.Records // its own key is that of no record
}
