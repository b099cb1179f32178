package projectors

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// A subject's tombstone takes all that is kept of it from the readers and from the digest at once. Its rows are cleared
// afterwards, a page at a time between the commits that are folded meanwhile, to which they are as good as gone already. A row
// of its own says so until nothing is left, so that a view that is opened again goes on with it.

// page is the number of rows that one batch removes or looks at, at most, where there may be many.
const page = 256

// clearing is a forgotten subject whose rows are not all cleared.
type clearing struct {
	tenant, sid string
	// erasure and position are those of the tombstone.
	erasure  string
	position uint64
	// stage is the first of the folder's stages that may have something left.
	stage int
}

// clearStage clears one page of what a view has of a subject, and tells whether there is more. The batch before must be applied.
type clearStage func(ctx context.Context, c *clearing) (more bool, err error)

func clearingsOf(tenant string) key { return newKey(sortClearing).part(tenant) }

func clearingKey(tenant, sid string) key { return clearingsOf(tenant).part(sid) }

// loadClearings returns what is not cleared, the oldest tombstone first.
func loadClearings(r pebble.Reader) (list []*clearing, err error) {
	err = scan(r, []byte{sortClearing}, nil, func(k, value []byte) (bool, error) {
		tenant, rest, ok := cutPart(k[1:])
		if !ok {
			return false, errRow(sortClearing)
		}
		sid, _, ok := cutPart(rest)
		if !ok {
			return false, errRow(sortClearing)
		}
		d := decoder{b: value}
		list = append(list, &clearing{tenant: tenant, sid: sid, position: d.uint(), erasure: d.string()})
		return true, d.err()
	})
	if err != nil {
		return nil, fmt.Errorf("load what is not cleared: %w", err)
	}
	slices.SortFunc(list, byPosition)
	return list, nil
}

func byPosition(a, b *clearing) int {
	return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.sid, b.sid))
}

// letGo takes a subject with a tombstone out of the digest and the counts, and has its rows cleared. It may be repeated.
func (e *engine) letGo(tenant, sid, erasure string, position uint64) error {
	if err := e.dropSum(tenant, sid); err != nil {
		return err
	}
	if slices.ContainsFunc(e.clearings, func(c *clearing) bool { return c.tenant == tenant && c.sid == sid }) {
		return nil
	}
	var enc encoder
	enc.uint(position)
	enc.string(erasure)
	if err := e.set(clearingKey(tenant, sid), enc.b); err != nil {
		return err
	}
	e.clearings = append(e.clearings, &clearing{tenant: tenant, sid: sid, erasure: erasure, position: position})
	slices.SortFunc(e.clearings, byPosition)
	e.state.clearing = e.clearings[0].position
	return nil
}

// clearSome clears one page of the oldest clearing, and tells whether any is left.
func (e *engine) clearSome(ctx context.Context) (left bool, err error) {
	if len(e.clearings) == 0 {
		return false, nil
	}
	c := e.clearings[0]
	stages := e.folder.stages()
	if c.stage < len(stages) {
		more, err := stages[c.stage](ctx, c)
		if err != nil {
			return false, fmt.Errorf("clear subject: %w", err)
		}
		if !more {
			c.stage++
		}
	}
	if c.stage == len(stages) {
		e.clearings = e.clearings[1:]
		e.state.clearing = 0
		if len(e.clearings) > 0 {
			e.state.clearing = e.clearings[0].position
		}
		if err := e.unset(clearingKey(c.tenant, c.sid)); err != nil {
			return false, err
		}
	}
	return len(e.clearings) > 0, e.commit(ctx)
}

// clearPage removes a page of the rows under a prefix. Each is told every row before it goes, and may delete what belongs to it.
// They are in no digest any more.
func (e *engine) clearPage(prefix []byte, each func(key, value []byte) error) (more bool, err error) {
	var first, last []byte
	n := 0
	err = scan(e.db, prefix, nil, func(key, value []byte) (bool, error) {
		if n == 0 {
			first = append(first, key...)
		}
		n++
		last = append(last[:0], key...)
		if each != nil {
			if err := each(key, value); err != nil {
				return false, err
			}
		}
		return n < page, nil
	})
	if err != nil || n == 0 {
		return false, err
	}
	if err := e.b.DeleteRange(first, append(last, 0), nil); err != nil {
		return false, fmt.Errorf("delete rows: %w", err)
	}
	return n == page, nil
}

// unplace removes the row that leads from the id of a record to what the subject had under it. The id may be another's by now.
func (e *engine) unplace(c *clearing, kind byte, id string) error {
	return e.unsetIf(idKey(c.tenant, kind, id), func(value []byte) (bool, error) {
		if kind == kindFact {
			place, err := decodeFactPlace(value)
			return place.sid == c.sid, err
		}
		place, err := decodeEpisodePlace(value)
		return place.sid == c.sid, err
	})
}

// unsetIf deletes a stored row that is no record, if it is as it should be.
func (e *engine) unsetIf(k []byte, is func(value []byte) (bool, error)) error {
	var yes bool
	_, err := get(e.db, k, func(value []byte) (err error) {
		yes, err = is(value)
		return err
	})
	if err != nil || !yes {
		return err
	}
	return e.unset(k)
}

// clearSome clears one page between two commits, and tells whether anything is left.
func (l *lane) clearSome(ctx context.Context) (left bool, err error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	if err := l.ensure(ctx); err != nil {
		return false, err
	}
	return l.clearLocked(ctx)
}

func (l *lane) clearLocked(ctx context.Context) (left bool, err error) {
	if len(l.engine.clearings) == 0 {
		return false, nil
	}
	left, err = l.engine.clearSome(ctx)
	if err != nil {
		l.engine = nil
		return false, err
	}
	l.unsaved++
	return left, nil
}

// clear returns when all is cleared that there is to clear now. While the log is followed it waits for that, so that no commit
// waits for it.
func (l *lane) clear(ctx context.Context) error {
	var upTo uint64
	for first := true; ; first = false {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("clear forgotten subjects: %w", err)
		}
		l.mu.Lock()
		state, followed, moved := l.state, l.followed, l.moved
		l.mu.Unlock()
		if first {
			upTo = state.position
		}
		switch {
		case state.clearing == 0 || state.clearing > upTo:
			return nil
		case followed:
			select {
			case <-moved:
			case <-ctx.Done():
			}
			continue
		}
		if _, err := l.clearSome(ctx); err != nil {
			return err
		}
	}
}
