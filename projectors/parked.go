package projectors

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/annals-memory/annals/events"
)

// An aggregate with parked commits has a mark, and a row for each of them.

func parkedMark(subject string) key { return newKey(sortParkedMark).part(clip(subject)) }

func parkedKey(subject string, position uint64) key {
	return newKey(sortParked).part(clip(subject)).position(position)
}

// clip bounds a subject that need not be one of the log's.
func clip(subject string) string { return subject[:min(len(subject), maxPart)] }

// ordered reports whether the commits of an aggregate build on one another. Those that a whole tenant shares do not.
func ordered(subject string) bool {
	return !strings.HasSuffix(subject, "."+string(events.KindVector)+"."+events.SharedID) &&
		!strings.HasSuffix(subject, "."+string(events.KindTrace)+"."+events.SharedID)
}

// behind reports whether a commit must wait for a parked one of its aggregate.
func (e *engine) behind(it *item) (bool, error) {
	if e.state.parked == 0 || !ordered(it.subject) {
		return false, nil
	}
	return has(e.db, parkedMark(it.subject))
}

// parkedBefore reports whether a commit of the same aggregate at a lower position is parked.
func (e *engine) parkedBefore(it *item) (before bool, err error) {
	if e.state.parked == 0 {
		return false, nil
	}
	prefix := newKey(sortParked).part(clip(it.subject))
	err = scan(e.db, prefix, nil, func(k, _ []byte) (bool, error) {
		position, ok := cutPosition(k[len(prefix):])
		if !ok {
			return false, errRow(sortParked)
		}
		before = position < it.position
		return false, nil
	})
	return before, err
}

// park notes a commit to be folded later. The message itself stays in the log.
func (e *engine) park(it *item, cause string) error {
	e.settle = true // the mark is read for the next commit
	e.state.parked++
	if err := e.set(parkedMark(it.subject), nil); err != nil {
		return err
	}
	if err := e.set(parkedKey(it.subject, it.position), []byte(cause)); err != nil {
		return err
	}
	return e.noteParked(it)
}

// parkBehind parks a commit behind another of its aggregate, but not its tombstones: what they end does not depend on what
// is parked, and must not wait for it.
func (e *engine) parkBehind(ctx context.Context, it *item) error {
	if it.err != nil {
		return e.park(it, causeBehind)
	}
	tombs := *it
	tombs.rec.Events, tombs.opened, tombs.types = nil, nil, nil
	for i, ev := range it.rec.Events {
		if isTombstone(ev) {
			tombs.rec.Events = append(tombs.rec.Events, ev)
			tombs.types = append(tombs.types, it.types[i])
			tombs.opened = append(tombs.opened, opened{})
		}
	}
	if len(tombs.rec.Events) > 0 {
		if err := e.try(ctx, &tombs); err != nil {
			if p := (*parkError)(nil); errors.As(err, &p) {
				return e.park(it, p.cause)
			}
			return err
		}
	}
	if len(tombs.rec.Events) == len(it.rec.Events) {
		return nil
	}
	return e.park(it, causeBehind)
}

func isTombstone(ev events.Event) bool {
	switch ev.(type) {
	case events.EpisodeForgotten, events.FactForgotten, events.SubjectForgotten:
		return true
	default:
		return false
	}
}

// parkedRow is one parked commit.
type parkedRow struct {
	subject  string // as the key has it
	position uint64
}

func (e *engine) parkedFrom(from []byte) (row parkedRow, found bool, err error) {
	err = scan(e.db, []byte{sortParked}, from, func(k, _ []byte) (bool, error) {
		subject, rest, ok := cutPart(k[1:])
		if !ok {
			return false, errRow(sortParked)
		}
		position, ok := cutPosition(rest)
		if !ok {
			return false, errRow(sortParked)
		}
		row, found = parkedRow{subject: subject, position: position}, true
		return false, nil
	})
	return row, found, err
}

// retry folds what is parked, aggregate by aggregate, each until one of its commits fails again.
func (e *engine) retry(ctx context.Context, log events.Follower) (RetryResult, error) {
	res := RetryResult{Projection: e.spec.name}
	var from []byte
	for {
		row, found, err := e.parkedFrom(from)
		if err != nil {
			return res, err
		}
		if !found {
			res.Parked = e.state.parked
			return res, nil
		}
		unparked, gone, err := e.retryOne(ctx, log, row)
		if err != nil {
			return res, err
		}
		switch {
		case gone:
			res.Gone++
		case unparked:
			res.Folded++
		}
		from = append(parkedKey(row.subject, row.position), 0)
		if !unparked && ordered(row.subject) {
			from = after(newKey(sortParked).part(row.subject))
		}
	}
}

func (e *engine) retryOne(ctx context.Context, log events.Follower, row parkedRow) (unparked, gone bool, err error) {
	m, err := log.MessageAt(ctx, row.position)
	switch {
	case errors.Is(err, events.ErrNoCommits):
		return true, true, e.unpark(ctx, row)
	case err != nil:
		return false, false, fmt.Errorf("read parked message: %w", err)
	}
	items := []item{newItem(&m)}
	if err := e.spec.ready(ctx, items); err != nil {
		return false, false, err
	}
	if err := e.try(ctx, &items[0]); err != nil {
		if p := (*parkError)(nil); errors.As(err, &p) {
			return false, false, e.set(parkedKey(row.subject, row.position), []byte(p.cause))
		}
		return false, false, err
	}
	return true, false, e.unpark(ctx, row)
}

// unparkAll lets go of what is parked at the positions that are gone.
func (e *engine) unparkAll(ctx context.Context, gone func(position uint64) bool) error {
	var from []byte
	for {
		row, found, err := e.parkedFrom(from)
		if err != nil || !found {
			return err
		}
		if gone(row.position) {
			if err := e.unpark(ctx, row); err != nil {
				return err
			}
		}
		from = append(parkedKey(row.subject, row.position), 0)
	}
}

// unpark removes the row, and the mark if it was the last one.
func (e *engine) unpark(ctx context.Context, row parkedRow) error {
	e.state.parked--
	if err := e.unset(parkedKey(row.subject, row.position)); err != nil {
		return err
	}
	rest := 0
	err := scan(e.db, newKey(sortParked).part(row.subject), nil, func([]byte, []byte) (bool, error) {
		rest++
		return rest < 2, nil
	})
	if err != nil {
		return err
	}
	if rest < 2 {
		if err := e.unset(parkedMark(row.subject)); err != nil {
			return err
		}
	}
	return e.commit(ctx)
}
