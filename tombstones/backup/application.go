package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/tombstones/ledger"
)

// grave is what a tombstone ends.
type grave struct {
	agg    events.Aggregate
	record string
}

func graveOf(t ledger.Tombstone) grave {
	return grave{events.Aggregate{Tenant: t.Tenant, Kind: t.Kind, ID: t.Aggregate}, t.Record}
}

// named is a subject or an episode of a tenant.
type named struct{ tenant, id string }

// application is one application of a ledger to a log.
type application struct {
	r      Restored
	ledger *ledger.Recovered
	report *Report

	// wanted are the tombstones of the ledger; order is theirs.
	wanted map[grave]ledger.Tombstone
	order  []grave
	// episodes and subjects are those that are gone, with their erasures.
	episodes, subjects map[named]string
	found              found
	// written are the tombstones that were appended, changed the changes of subjects
	// that the new epoch has.
	written []ledger.Tombstone
	changed []ledger.SubjectChange
}

func (a *application) run(ctx context.Context) error {
	if err := a.readLedger(ctx); err != nil {
		return err
	}
	var err error
	if a.found, err = survey(ctx, a.r.Log, a.ledger.Common, a.gone); err != nil {
		return err
	}
	a.changed = a.found.changes
	if err := a.restate(ctx); err != nil {
		return err
	}
	if err := a.bury(ctx); err != nil {
		return err
	}
	if err := a.cascade(ctx); err != nil {
		return err
	}
	if err := a.shred(ctx); err != nil {
		return err
	}
	if err := a.r.Eraser.SecureDelete(ctx, a.ledger.Erased...); err != nil {
		return fmt.Errorf("delete what was erased: %w", err)
	}
	if err := a.ledger.Checkpoint(ctx); err != nil {
		return fmt.Errorf("cover the log: %w", err)
	}
	if err := a.ledger.Record(ctx, a.written); err != nil {
		return fmt.Errorf("record tombstones: %w", err)
	}
	if err := a.ledger.RecordSubject(ctx, a.changed); err != nil {
		return fmt.Errorf("record holds and consents: %w", err)
	}
	if err := a.ledger.Checkpoint(ctx); err != nil {
		return fmt.Errorf("cover the log: %w", err)
	}
	return nil
}

func (a *application) readLedger(ctx context.Context) error {
	a.wanted, a.episodes, a.subjects = map[grave]ledger.Tombstone{}, map[named]string{}, map[named]string{}
	for t, err := range a.ledger.Tombstones(ctx) {
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		a.want(t)
	}
	a.report.Tombstones = len(a.wanted)
	return nil
}

// want takes in a tombstone, the first of several of one thing.
func (a *application) want(t ledger.Tombstone) {
	g := graveOf(t)
	if _, twice := a.wanted[g]; twice {
		return
	}
	a.wanted[g] = t
	a.order = append(a.order, g)
	switch t.Kind { //nolint:exhaustive // Nothing is derived from the others.
	case events.KindEpisode:
		a.episodes[named{t.Tenant, t.Aggregate}] = t.Erasure
	case events.KindSubject:
		a.subjects[named{t.Tenant, t.Aggregate}] = t.Erasure
	}
}

// gone tells the erasure of a source, if it is gone.
func (a *application) gone(tenant string, src events.SourceRef) (string, bool) {
	if erasure, ok := a.episodes[named{tenant, src.Episode}]; ok {
		return erasure, true
	}
	erasure, ok := a.subjects[named{tenant, src.Subject}]
	return erasure, ok
}

// bury appends the tombstones that the log does not have.
func (a *application) bury(ctx context.Context) error {
	lists := map[events.Aggregate][]events.Event{}
	var order []events.Aggregate
	for _, g := range a.order {
		if a.found.tombstones[g] {
			continue
		}
		e, ok := eventOf(a.wanted[g])
		if !ok {
			continue
		}
		if lists[g.agg] == nil {
			order = append(order, g.agg)
		}
		lists[g.agg] = append(lists[g.agg], e)
	}
	for chunk := range slices.Chunk(order, commitsAtOnce) {
		if err := a.append(ctx, chunk, lists); err != nil {
			return err
		}
	}
	a.report.Appended = len(a.written)
	return nil
}

// eventOf is the event of a tombstone.
func eventOf(t ledger.Tombstone) (events.Event, bool) {
	switch t.Kind { //nolint:exhaustive // Nothing else has a tombstone.
	case events.KindEpisode:
		if t.Subject == "" { // of what was dropped in quarantine: nothing to forget
			return nil, false
		}
		return events.EpisodeForgotten{Subject: t.Subject, Erasure: t.Erasure}, true
	case events.KindFact:
		return events.FactForgotten{Fact: t.Record, Subject: t.Subject, Erasure: t.Erasure}, true
	case events.KindSubject:
		return events.SubjectForgotten{Erasure: t.Erasure}, true
	}
	return nil, false
}

const (
	// commitsAtOnce is how many commits are appended together.
	commitsAtOnce = 500
	// eventsAtOnce bounds the events of one that goes with others.
	eventsAtOnce = 16
)

// append appends lists to aggregates, one after the other if they are long.
func (a *application) append(ctx context.Context, aggs []events.Aggregate, lists map[events.Aggregate][]events.Event) error {
	var batch []events.Pending
	for _, agg := range aggs {
		at, err := a.position(ctx, agg)
		if err != nil {
			return err
		}
		list := lists[agg]
		if len(list) <= eventsAtOnce {
			batch = append(batch, events.Pending{Commit: a.commit(agg, list), Expect: events.Expect(at)})
			continue
		}
		for some := range slices.Chunk(list, events.MaxEvents) {
			c := a.commit(agg, some)
			ack, err := a.r.Log.Append(ctx, c, events.Expect(at))
			if err != nil {
				return fmt.Errorf("append tombstones: %w", err)
			}
			at = ack.Position
			a.note(c, at)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	acks, err := a.r.Log.AppendBatch(ctx, batch)
	if err != nil {
		return fmt.Errorf("append tombstones: %w", err)
	}
	for i, p := range batch {
		a.note(p.Commit, acks[i].Position)
	}
	return nil
}

func (a *application) commit(agg events.Aggregate, list []events.Event) events.Commit {
	return events.Commit{ID: a.r.NewID(), Aggregate: agg, Time: events.Micro(a.r.Now()), Events: list}
}

func (a *application) position(ctx context.Context, agg events.Aggregate) (uint64, error) {
	last, err := a.r.Log.Last(ctx, agg)
	if errors.Is(err, events.ErrNoCommits) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read aggregate: %w", err)
	}
	return last.Position, nil
}

// note keeps what the ledger is to have of a commit.
func (a *application) note(c events.Commit, position uint64) {
	agg := c.Aggregate
	a.changed = append(a.changed, ledger.ChangesOf(events.Recorded{Commit: c, Position: position})...)
	for _, e := range c.Events {
		t := ledger.Tombstone{Tenant: agg.Tenant, Kind: agg.Kind, Aggregate: agg.ID, Position: position}
		switch e := e.(type) {
		case events.EpisodeForgotten:
			t.Subject, t.Erasure = e.Subject, e.Erasure
		case events.FactForgotten:
			t.Record, t.Subject, t.Erasure = e.Fact, e.Subject, e.Erasure
		case events.SubjectForgotten:
			t.Subject, t.Erasure = agg.ID, e.Erasure
		default:
			continue
		}
		a.written = append(a.written, t)
	}
}

// cascade decides on the facts that were taken from what is gone.
func (a *application) cascade(ctx context.Context) error {
	before := len(a.written)
	for _, agg := range a.found.slots {
		var slot events.Slot
		for r, err := range a.r.Log.ReadAggregate(ctx, agg, 0) {
			if err != nil {
				return fmt.Errorf("read slot: %w", err)
			}
			slot.Apply(r)
		}
		// A fact about a subject that is gone went with it.
		of := func(f *events.SlotFact) bool { return a.subjects[named{agg.Tenant, f.Subject}] == "" }
		list := slot.Losses(of, func(src events.SourceRef) (string, bool) { return a.gone(agg.Tenant, src) })
		for some := range slices.Chunk(list, events.MaxEvents) {
			c := a.commit(agg, some)
			ack, err := a.r.Log.Append(ctx, c, events.Expect(slot.Position))
			if err != nil {
				return fmt.Errorf("append what is lost: %w", err)
			}
			slot.Position = ack.Position
			a.note(c, ack.Position)
		}
	}
	a.report.Cascaded = len(a.written) - before
	for _, t := range a.written[before:] {
		a.want(t)
	}
	return nil
}

// shred destroys the keys of everything that has a tombstone, but what is held.
func (a *application) shred(ctx context.Context) error {
	held := map[named]bool{}
	for s := range a.found.holds {
		state, err := events.ReadSubject(ctx, a.r.Log, s.tenant, s.id)
		if err != nil {
			return fmt.Errorf("read holds: %w", err)
		}
		held[s] = len(state.Holds) > 0
	}
	records := map[string][]string{}
	for _, g := range a.order {
		t := a.wanted[g]
		subject := t.Subject
		if t.Kind == events.KindSubject {
			subject = t.Aggregate
		}
		if held[named{t.Tenant, subject}] {
			a.report.Held++
			continue
		}
		switch t.Kind { //nolint:exhaustive // Nothing else has a tombstone.
		case events.KindEpisode:
			records[t.Tenant] = append(records[t.Tenant], t.Aggregate)
		case events.KindFact:
			records[t.Tenant] = append(records[t.Tenant], t.Record)
		case events.KindSubject:
			if err := a.shredSubject(ctx, t.Tenant, t.Aggregate); err != nil {
				return err
			}
		}
	}
	for _, tenant := range slices.Sorted(maps.Keys(records)) {
		for some := range slices.Chunk(records[tenant], commitsAtOnce) {
			if err := a.r.Keys.DestroyRecord(ctx, tenant, some...); err != nil {
				return fmt.Errorf("destroy keys: %w", err)
			}
		}
	}
	return nil
}

// shredSubject destroys the keys of a subject, its name, and last the key of its
// own record.
func (a *application) shredSubject(ctx context.Context, tenant, sid string) error {
	if err := a.r.Keys.DestroySubject(ctx, tenant, sid); err != nil {
		return fmt.Errorf("destroy keys: %w", err)
	}
	t, err := a.r.Keys.TenantByToken(ctx, tenant)
	switch {
	case errors.Is(err, seal.ErrKeyDestroyed): // and its names with it
	case err != nil:
		return fmt.Errorf("find tenant: %w", err)
	default:
		if err := t.DropSubjectID(ctx, sid); err != nil {
			return fmt.Errorf("drop name: %w", err)
		}
	}
	if err := a.r.Keys.DestroyRecord(ctx, tenant, sid); err != nil {
		return fmt.Errorf("destroy keys: %w", err)
	}
	return nil
}
