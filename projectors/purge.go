package projectors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// A tombstone leaves a mark for its tenant, so that a purge knows which ranges of the store hold something to be dropped.

func unpurgedKey(tenant string) key { return newKey(sortUnpurged).part(tenant) }

// unpurged marks a tenant. The value tells one tombstone from the next.
func (e *engine) unpurged(tenant string, position uint64) error {
	return e.set(unpurgedKey(tenant), newKey(0)[:0].position(position))
}

// Purge makes what tombstones deleted up to now leave the disk, in every view, and returns when no file that held it is there
// any more. It does nothing where nothing was forgotten since the last purge. Readers go on, but those that began before
// keep what they see: it waits for them, and if they do not end in time it fails with an [*OpenReadersError] that says how
// many there are; it can be repeated. During a replay or a verification it is [ErrBusy];
// either of them waits for it.
//
// What is written over is not erased from the medium: that is for the file system and the disk to do.
func (v *Views) Purge(ctx context.Context) error {
	var errs []error
	for _, l := range v.lanes {
		if err := l.purge(ctx); err != nil {
			errs = append(errs, fmt.Errorf("purge %s: %w", l.spec.name, err))
		}
	}
	return errors.Join(errs...)
}

func (l *lane) purge(ctx context.Context) (err error) {
	if !l.busy.TryLock() {
		return ErrBusy
	}
	defer l.busy.Unlock()
	if err := l.outlive(ctx); err != nil {
		return err
	}
	if err := l.clear(ctx); err != nil {
		return err
	}
	if err := l.sweepIndexes(ctx); err != nil {
		return err
	}
	held, err := l.acquire()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	marks, epoch, err := l.marks(held)
	if err != nil || len(marks) == 0 {
		return err
	}
	if err := l.waitForReaders(ctx, held, epoch); err != nil {
		return err
	}
	if err := held.work.drain(ctx); err != nil {
		return fmt.Errorf("wait for the store: %w", err)
	}
	last, err := l.rewrite(ctx, held, marks)
	if err != nil {
		return err
	}
	if err := l.waitForFiles(ctx, held, last); err != nil {
		return err
	}
	return l.unmark(held, marks)
}

// outlive waits for the generations that were replaced to be removed.
func (l *lane) outlive(ctx context.Context) error {
	l.mu.Lock()
	l.retired = slices.DeleteFunc(l.retired, isClosed)
	old := slices.Clone(l.retired)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, l.cfg.PurgeWait)
	defer cancel()
	for i, g := range old {
		select {
		case <-g.closed:
			if g.err != nil {
				return fmt.Errorf("remove old generation: %w", g.err)
			}
		case <-ctx.Done():
			open := 0
			for _, g := range old[i:] {
				n, _ := g.readersBefore(g.nextEpoch())
				open += n
			}
			return &OpenReadersError{Projection: l.spec.name, Open: open}
		}
	}
	return nil
}

func isClosed(g *generation) bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}

// marks returns the marks, and the epoch after that of all readers who may see what was deleted. No commit is being folded
// then; one whose fold was cut off deletes more when it is repeated, and more goes where something is left to be cleared, so
// such a mark is returned without a value, and stays.
func (l *lane) marks(held lease) (marks map[string][]byte, epoch uint64, err error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	state, err := readState(held.db)
	if err != nil {
		return nil, 0, err
	}
	marks = make(map[string][]byte)
	err = scan(held.db, []byte{sortUnpurged}, nil, func(k, value []byte) (bool, error) {
		tenant, _, ok := cutPart(k[1:])
		if !ok {
			return false, errRow(sortUnpurged)
		}
		position, ok := cutPosition(value)
		if !ok {
			return false, errRow(sortUnpurged)
		}
		marks[tenant] = nil
		if position > state.position {
			return true, nil
		}
		clears, err := hasAny(held.db, clearingsOf(tenant))
		if err == nil && !clears {
			marks[tenant] = bytes.Clone(value)
		}
		return true, err
	})
	return marks, held.nextEpoch(), err
}

// waitForReaders waits for the readers of earlier epochs, of which the caller is one.
func (l *lane) waitForReaders(ctx context.Context, held lease, epoch uint64) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.PurgeWait)
	defer cancel()
	for {
		n, left := held.readersBefore(epoch)
		if n--; n <= 0 {
			return nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return &OpenReadersError{Projection: l.spec.name, Open: n}
		}
	}
}

// keyRange is the keys from lo on and below hi.
type keyRange struct{ lo, hi []byte }

// rangesOf are all ranges of a store that may hold something of a tenant.
func rangesOf(tenant string) []keyRange {
	var list []keyRange
	add := func(prefix []byte) { list = append(list, keyRange{lo: prefix, hi: after(prefix)}) }
	for sort := byte('!'); sort <= '~'; sort++ {
		if sort != sortIndex {
			add(newKey(sort).part(tenant))
			continue
		}
		for c := byte('a'); c <= 'z'; c++ {
			add(newKey(sort).byte(c).part(tenant))
		}
	}
	return list
}

// rewrite has the store write anew every table that may hold something of the tenants, and returns the highest number of a
// file that there is then.
//
// A compaction alone is not enough. It leaves a table at the bottom as it is unless something above overlaps it, and what a
// compaction kept there for a reader stays in it for good. So each table gets a fresh entry in the range to be compacted,
// which says what is so already: a row as it stands, or that there is none.
func (l *lane) rewrite(ctx context.Context, held lease, marks map[string][]byte) (last uint64, err error) {
	ranges, old, all, err := l.touch(held, marks)
	if err != nil {
		return 0, err
	}
	if all {
		ranges = []keyRange{{lo: []byte{0}, hi: []byte{0xff}}}
	}
	for _, r := range ranges {
		if err := held.db.Compact(ctx, r.lo, r.hi, false); err != nil {
			return 0, fmt.Errorf("compact view: %w", err)
		}
	}
	live, err := liveTables(held)
	if err != nil {
		return 0, err
	}
	if slices.ContainsFunc(old, func(n uint64) bool { return live[n] }) {
		return 0, ErrUnpurged
	}
	for n := range live {
		last = max(last, n)
	}
	return last, nil
}

// liveTables are the numbers of the files of the tables that the store has.
func liveTables(held lease) (map[uint64]bool, error) {
	levels, err := held.db.SSTables()
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	live := make(map[uint64]bool)
	for _, level := range levels {
		for i := range level {
			live[uint64(level[i].BackingSSTNum)] = true
		}
	}
	return live, nil
}

// touch writes the fresh entries, with the fold held. It returns the ranges that have tables, the numbers of their files, and
// whether the store may as well be compacted as a whole.
func (l *lane) touch(held lease, marks map[string][]byte) (ranges []keyRange, old []uint64, all bool, err error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	levels, err := held.db.SSTables()
	if err != nil {
		return nil, nil, false, fmt.Errorf("list tables: %w", err)
	}
	b := held.db.NewBatch()
	defer closeInto(b, &err)
	t := toucher{r: held.db, b: b, tables: slices.Concat(levels...), touched: make(map[int]bool)}
	for tenant := range marks {
		for _, r := range rangesOf(tenant) {
			used, err := t.touch(r)
			if err != nil {
				return nil, nil, false, err
			}
			if used {
				ranges = append(ranges, r)
			}
		}
	}
	var size, total uint64
	for i := range t.tables {
		total += t.tables[i].Size
		if t.touched[i] {
			size += t.tables[i].Size
			old = append(old, uint64(t.tables[i].BackingSSTNum))
		}
	}
	if err := held.db.Apply(b, pebble.NoSync); err != nil {
		return nil, nil, false, fmt.Errorf("apply batch: %w", err)
	}
	return ranges, old, 2*size > total, nil
}

// toucher writes one entry into each table that it is told of.
type toucher struct {
	r       pebble.Reader
	b       *pebble.Batch
	tables  []pebble.SSTableInfo
	touched map[int]bool
}

// touch touches the tables that reach into a range, where they do, and tells whether there are any.
func (t *toucher) touch(r keyRange) (used bool, err error) {
	for i := range t.tables {
		table := &t.tables[i]
		if bytes.Compare(table.Largest.UserKey, r.lo) < 0 || bytes.Compare(table.Smallest.UserKey, r.hi) >= 0 {
			continue
		}
		used = true
		if t.touched[i] {
			continue
		}
		t.touched[i] = true
		k := r.lo
		if bytes.Compare(k, table.Smallest.UserKey) < 0 {
			k = table.Smallest.UserKey
		}
		if err := t.repeat(k); err != nil {
			return false, err
		}
	}
	return used, nil
}

// repeat writes what is stored under a key again.
func (t *toucher) repeat(k []byte) error {
	found, err := get(t.r, k, func(value []byte) error {
		if err := t.b.Set(k, value, nil); err != nil {
			return fmt.Errorf("write row: %w", err)
		}
		return nil
	})
	if err != nil || found {
		return err
	}
	return deleteRow(t.b, k)
}

func deleteRow(b *pebble.Batch, k []byte) error {
	if err := b.Delete(k, nil); err != nil {
		return fmt.Errorf("delete row: %w", err)
	}
	return nil
}

// waitForFiles waits until of the files up to a number only those of living tables are there. Iterators keep others, even those
// of readers who began later.
func (l *lane) waitForFiles(ctx context.Context, held lease, last uint64) error {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.PurgeWait)
	defer cancel()
	for {
		moved := held.work.next()
		stale, err := staleFiles(held, last)
		if err != nil || !stale {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			n, _ := held.readersBefore(held.nextEpoch())
			if n--; n > 0 {
				return &OpenReadersError{Projection: l.spec.name, Open: n}
			}
			return ErrUnpurged
		}
	}
}

func staleFiles(held lease, last uint64) (bool, error) {
	names, err := held.fs.List(held.dir)
	if err != nil {
		return false, fmt.Errorf("list files: %w", err)
	}
	live, err := liveTables(held) // after the names: one that has just been made is among both
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(names, func(name string) bool {
		digits, ok := strings.CutSuffix(name, ".sst")
		if !ok {
			return false
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		return err == nil && n <= last && !live[n]
	}), nil
}

// unmark removes the marks to which no tombstone was added since.
func (l *lane) unmark(held lease, marks map[string][]byte) (err error) {
	l.folding.Lock()
	defer l.folding.Unlock()
	b := held.db.NewBatch()
	defer closeInto(b, &err)
	for tenant, mark := range marks {
		k := unpurgedKey(tenant)
		_, err := get(held.db, k, func(value []byte) error {
			if !bytes.Equal(value, mark) {
				return nil
			}
			return deleteRow(b, k)
		})
		if err != nil {
			return err
		}
	}
	if err := held.db.Apply(b, pebble.NoSync); err != nil {
		return fmt.Errorf("apply batch: %w", err)
	}
	return nil
}
