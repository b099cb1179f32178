package producers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
	"github.com/annals-memory/annals/events/token"
)

// item is one valid item of a batch on its way.
type item struct {
	index   int
	request CaptureRequest
	work    *work
	// known is what was found of it beside its request.
	known terms
	// withdrawn says that the subject has taken its consent back.
	withdrawn bool
	// alone says that the batch cannot take it and it goes on its own.
	alone bool
}

// CaptureBatch keeps up to 1,000 episodes. Each item is answered on its own;
// the valid ones are appended together, all or none, where that is possible.
// An error of the call itself means that the log or the keys failed: some items
// may have been kept, and under a key the call can be repeated.
func (g *Gateway) CaptureBatch(ctx context.Context, caller events.Caller, key string, r CaptureBatchRequest) (BatchCaptured, error) {
	now := g.clock()
	if err := permit(caller, events.RoleAgent, events.RoleAdmin); err != nil {
		return BatchCaptured{}, err
	}
	if err := first(events.CheckIdempotencyKey(key), r.validate()); err != nil {
		return BatchCaptured{}, err
	}
	out := BatchCaptured{Results: make([]ItemResult, len(r.Items))}
	valid := make([]int, 0, len(r.Items))
	for i, req := range r.Items {
		out.Results[i].Index = i
		if err := req.validate(now, caller.Trust); err != nil {
			out.Results[i].Error = itemError(underItem(i, err))
			continue
		}
		valid = append(valid, i)
	}
	if len(valid) == 0 {
		return out, nil
	}
	items, err := g.batchItems(ctx, caller, key, r, valid)
	if err != nil {
		return BatchCaptured{}, err
	}
	if items, err = g.admitted(ctx, items, &out); err != nil || len(items) == 0 {
		return out, err
	}
	if err := g.findTerms(ctx, items, caller.Trust, now); err != nil {
		return BatchCaptured{}, err
	}
	if err := g.captureTogether(ctx, items, now, &out); err != nil {
		return BatchCaptured{}, err
	}
	for _, it := range items {
		if !it.alone {
			continue
		}
		if err := g.captureAlone(ctx, it, now, &out); err != nil {
			return BatchCaptured{}, err
		}
	}
	return out, nil
}

// underItem puts the path of the item before the field of its error.
func underItem(i int, err error) error {
	if in, ok := errors.AsType[*events.InputError](err); ok {
		at := *in
		at.Field = index("items", i) + "." + in.Field
		return &at
	}
	return err
}

func (g *Gateway) batchItems(ctx context.Context, caller events.Caller, key string, r CaptureBatchRequest, valid []int) ([]*item, error) {
	t, err := g.tenant(ctx, caller.Tenant)
	if err != nil {
		return nil, err
	}
	principal := token.Principal(t, caller.Principal)
	items := make([]*item, 0, len(valid))
	for _, i := range valid {
		cmd := command{name: cmdBatch, principal: caller.Principal, key: key, part: strconv.Itoa(i)}
		w, err := g.prepareIn(t, principal, cmd, r.Items[i])
		if err != nil {
			return nil, err
		}
		w.aim(r.Items[i])
		items = append(items, &item{index: i, request: r.Items[i], work: w})
	}
	return items, nil
}

// findTerms finds the terms of all items. Those that wait in quarantine go alone.
func (g *Gateway) findTerms(ctx context.Context, items []*item, channel events.Trust, now time.Time) error {
	find := g.captureTerms(ctx, items[0].work, channel, now)
	for _, it := range items {
		var err error
		if it.known, err = find(ctx, it.request); err != nil {
			return fmt.Errorf("item %d: %w", it.index, err)
		}
		it.alone = it.known.waits()
	}
	return nil
}

// captureAlone carries out one item by itself. If it has its key already, it
// goes on from there.
func (g *Gateway) captureAlone(ctx context.Context, it *item, now time.Time, out *BatchCaptured) error {
	var (
		done Captured
		err  error
	)
	switch {
	case it.withdrawn:
		err = g.unbegin(ctx, it.work, refusedConsent())
	case it.work.rec == nil:
		err = g.begin(ctx, it.work)
	}
	if err == nil {
		done, err = g.finishCapture(ctx, it.work, it.request, it.known, now)
	}
	input, isInput := errors.AsType[*events.InputError](err)
	switch {
	case err == nil:
		out.set(it, done)
	case isInput:
		out.Results[it.index].Error = itemError(underItem(it.index, input))
	case errors.Is(err, events.ErrKeyReused), errors.Is(err, events.ErrForgotten), errors.Is(err, events.ErrHeld), errors.Is(err, events.ErrTooLarge):
		out.Results[it.index].Error = itemError(err)
	default:
		return fmt.Errorf("item %d: %w", it.index, err)
	}
	return nil
}

func (b *BatchCaptured) set(it *item, c Captured) {
	b.Results[it.index].ID, b.Results[it.index].Status = c.ID, c.Status
	b.Position = max(b.Position, c.Position)
}

// captureTogether makes all keys in one write and appends all episodes in one
// batch. Items it cannot take are marked to go alone: those of subjects that
// were forgotten, and all if a key or an episode is there already.
func (g *Gateway) captureTogether(ctx context.Context, items []*item, now time.Time, out *BatchCaptured) error {
	together := make([]*item, 0, len(items))
	for _, it := range items {
		if !it.alone {
			together = append(together, it)
		}
	}
	if len(together) < 2 {
		alone(together)
		return nil
	}
	made, err := g.createKeys(ctx, together)
	if err != nil {
		return err
	}
	if !made {
		alone(together)
		return nil
	}
	if together, err = g.livingSubjects(ctx, together); err != nil {
		return err
	}
	if len(together) == 0 {
		return nil
	}
	batch := make([]events.Pending, len(together))
	for i, it := range together {
		c, err := it.work.episodeCommit(it.request, it.known, now)
		if err != nil {
			return err
		}
		batch[i] = events.Pending{Commit: c, Expect: events.ExpectNew}
	}
	acks, err := g.log.AppendBatch(ctx, batch)
	switch {
	case errors.Is(err, events.ErrConflict), errors.Is(err, events.ErrTooLarge):
		alone(together)
		return nil
	case err != nil:
		return fmt.Errorf("append batch: %w", err)
	}
	for i, it := range together {
		out.set(it, Captured{ID: it.work.id, Position: acks[i].Position, Status: StatusCaptured})
	}
	return nil
}

func alone(items []*item) {
	for _, it := range items {
		it.alone = true
	}
}

// createKeys makes the keys of all items, or of none if one exists.
func (g *Gateway) createKeys(ctx context.Context, items []*item) (bool, error) {
	news := make([]seal.NewRecord, len(items))
	for i, it := range items {
		sid, err := g.subjectID(ctx, it.work.tenant, it.work.subject)
		if errors.Is(err, seal.ErrUnknownSubject) {
			return false, nil // dropped as soon as it was made; alone it is tried again
		}
		if err != nil {
			return false, err
		}
		n, err := it.work.note(sid).Encode()
		if err != nil {
			return false, fmt.Errorf("create record keys: %w", err)
		}
		scope := seal.Scope{Tenant: it.work.tenant.Token(), Subject: sid, Class: it.work.category}
		news[i] = seal.NewRecord{Scope: scope, Record: it.work.id, Note: n}
	}
	recs, err := g.keys.NewRecords(ctx, news)
	if errors.Is(err, seal.ErrRowExists) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create record keys: %w", err)
	}
	for i, it := range items {
		it.work.rec = recs[i]
	}
	return true, nil
}

// livingSubjects registers the subjects that are new and returns the items
// whose subject is alive. The others start again alone, under a new id.
func (g *Gateway) livingSubjects(ctx context.Context, items []*item) ([]*item, error) {
	states := make(map[string]life)
	subjects := make(map[string]events.SubjectState)
	var newcomers []*work
	for _, it := range items {
		sid := it.work.sid()
		if _, seen := states[sid]; seen {
			continue
		}
		s, err := events.ReadSubject(ctx, g.log, it.work.tenant.Token(), sid)
		if err != nil {
			return nil, fmt.Errorf("find subject: %w", err)
		}
		subjects[sid], states[sid] = s, lifeIn(&s)
		if states[sid] == lifeUnknown {
			newcomers = append(newcomers, it.work)
		}
	}
	if err := g.registerAll(ctx, newcomers, states); err != nil {
		return nil, err
	}
	living := items[:0:0]
	dead := make(map[string][]*work)
	for _, it := range items {
		sid := it.work.sid()
		s := subjects[sid]
		switch {
		case states[sid] == lifeAlive && consentOf(&s, it.work.category) == events.ConsentTakenBack:
			it.alone, it.withdrawn = true, true
			continue
		case states[sid] == lifeAlive:
			living = append(living, it)
			continue
		}
		dead[sid] = append(dead[sid], it.work)
		it.alone = true
	}
	for _, works := range dead {
		if err := g.abandon(ctx, works...); err != nil && !errors.Is(err, events.ErrHeld) {
			return nil, err
		}
		for _, w := range works {
			w.rec = nil
		}
	}
	return living, nil
}

// registerAll registers new subjects together, or one by one if another
// process was faster with one of them. One whose key was destroyed before it
// had an event is forgotten, and the others are not concerned.
func (g *Gateway) registerAll(ctx context.Context, newcomers []*work, states map[string]life) error {
	if len(newcomers) > 1 {
		batch := make([]events.Pending, 0, len(newcomers))
		able := make([]*work, 0, len(newcomers))
		for _, w := range newcomers {
			c, err := g.registration(ctx, w.tenant, w.sid(), w.subject, w.principal)
			if isDestroyed(err) {
				states[w.sid()] = lifeForgotten
				continue
			}
			if err != nil {
				return err
			}
			batch = append(batch, events.Pending{Commit: c, Expect: events.ExpectNew})
			able = append(able, w)
		}
		newcomers = able
		_, err := g.log.AppendBatch(ctx, batch)
		if err == nil {
			for _, w := range newcomers {
				states[w.sid()] = lifeAlive
			}
			return nil
		}
		if !errors.Is(err, events.ErrConflict) {
			return fmt.Errorf("append subjects: %w", err)
		}
	}
	for _, w := range newcomers {
		state, err := g.register(ctx, w.tenant, w.sid(), w.subject, w.principal)
		if err != nil {
			return err
		}
		states[w.sid()] = state
	}
	return nil
}
