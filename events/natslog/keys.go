package natslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// Keys are the seal.Rows on the stream KEYS: one subject per row, whose last
// message is the row and whose sequence is its revision.
//
// JetStream leaves the bytes of a replaced message in its block file, so the
// stream does not replace messages by itself: Put writes the new one and then
// overwrites the bytes of the old one. If the process ends in between, both are
// there, readers see the new one, and the next Put, or whatever removes the row,
// removes the old one. Replace and Discard leave the bytes where they are, which
// is for those that a key dies above.
//
// With a journal ([Keys.Journaled]) every message is named there before it goes.
type Keys struct {
	*store

	// journal is told of rows before they are removed; nil for nobody.
	journal Journal
}

var _ seal.Rows = (*Keys)(nil)

// Get returns one row; see seal.Rows.
func (k *Keys) Get(ctx context.Context, key string) (seal.Row, error) {
	if err := checkKeys(key); err != nil {
		return seal.Row{}, err
	}
	m, err := k.last(ctx, prefixKeys+key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return seal.Row{}, seal.ErrNoRow
	case err != nil:
		return seal.Row{}, translate("get row", err)
	}
	return toRow(m), nil
}

// GetMany returns the rows that exist; see seal.Rows. On one replica it costs
// one request per 1,000 keys, on several one per key.
func (k *Keys) GetMany(ctx context.Context, keys []string) (map[string]seal.Row, error) {
	if err := checkKeys(keys...); err != nil {
		return nil, err
	}
	found := make(map[string]seal.Row, len(keys))
	seen := make(map[string]struct{}, len(keys))
	subjects := make([]string, 0, len(keys))
	for _, key := range keys {
		if _, twice := seen[key]; !twice {
			seen[key] = struct{}{}
			subjects = append(subjects, prefixKeys+key)
		}
	}
	messages, err := k.lastOfEach(ctx, subjects)
	if err != nil {
		return nil, translate("get rows", err)
	}
	for _, m := range messages {
		row := toRow(m)
		found[row.Key] = row
	}
	return found, nil
}

// Create writes rows whose keys are absent, all or none; see seal.Rows.
func (k *Keys) Create(ctx context.Context, rows ...seal.Row) error {
	if len(rows) > seal.MaxCreate {
		return seal.ErrTooMany
	}
	keys := make([]string, len(rows))
	messages := make([]*nats.Msg, len(rows))
	seen := make(map[string]struct{}, len(rows))
	for i, row := range rows {
		if err := checkKeys(row.Key); err != nil {
			return err
		}
		keys[i], messages[i] = row.Key, rowMessage(row, events.ExpectNew)
	}
	for _, key := range keys {
		if _, twice := seen[key]; twice {
			return &seal.RowExistsError{Key: key}
		}
		seen[key] = struct{}{}
	}
	if len(rows) == 0 {
		return nil
	}
	for try := 0; ; try++ {
		_, err := k.publishAll(ctx, messages)
		switch {
		case err == nil:
			return nil
		case !isConflict(err):
			return k.unanswered("create rows", err)
		}
		existing, err := k.GetMany(ctx, keys)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if _, ok := existing[key]; ok {
				return &seal.RowExistsError{Key: key}
			}
		}
		if err := retry(ctx, try); err != nil {
			return translate("create rows", err)
		}
	}
}

// Put overwrites a row; see seal.Rows. After an error other than
// seal.ErrRowConflict the row may have been overwritten, and if it was, the
// former bytes may still be there until the next Put or Destroy of the row.
func (k *Keys) Put(ctx context.Context, row seal.Row) (uint64, error) {
	if err := checkKeys(row.Key); err != nil {
		return 0, err
	}
	if row.Revision == 0 || row.Revision > math.MaxInt64 {
		return 0, seal.ErrRowConflict
	}
	message := rowMessage(row, events.Expect(row.Revision))
	for try := 0; ; try++ {
		revision, err := k.publishAll(ctx, []*nats.Msg{message})
		if err == nil {
			if err := k.destroy(ctx, revision, revision, row.Key); err != nil {
				return 0, fmt.Errorf("erase former row: %w", err)
			}
			return revision, nil
		}
		if !isConflict(err) {
			return 0, k.unanswered("put row", err)
		}
		stored, err := k.Get(ctx, row.Key)
		switch {
		case errors.Is(err, seal.ErrNoRow):
			return 0, seal.ErrRowConflict
		case err != nil:
			return 0, err
		case stored.Revision != row.Revision:
			return 0, seal.ErrRowConflict
		}
		if err := retry(ctx, try); err != nil {
			return 0, translate("put row", err)
		}
	}
}

// Replace overwrites rows, all or none; see seal.Rows. The former messages are
// deleted afterwards, but their bytes stay in the block files until the server
// compacts those. If the process ends in between, former messages are left: nobody
// reads them, and the next Put, or whatever removes their row, removes them.
func (k *Keys) Replace(ctx context.Context, rows ...seal.Row) error {
	if len(rows) > seal.MaxCreate {
		return seal.ErrTooMany
	}
	messages, keys := make([]*nats.Msg, len(rows)), make([]string, len(rows))
	seen := make(map[string]struct{}, len(rows))
	for i, row := range rows {
		if err := checkKeys(row.Key); err != nil {
			return err
		}
		keys[i], messages[i] = row.Key, rowMessage(row, events.Expect(row.Revision))
	}
	for _, row := range rows {
		if _, twice := seen[row.Key]; twice || row.Revision == 0 || row.Revision > math.MaxInt64 {
			return seal.ErrRowConflict
		}
		seen[row.Key] = struct{}{}
	}
	if len(rows) == 0 {
		return nil
	}
	former, err := k.former(ctx, keys, rows)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		last, err := k.publishAll(ctx, messages)
		if err == nil {
			return k.drop(ctx, "drop former rows", former, last)
		}
		if !isConflict(err) {
			return k.unanswered("replace rows", err)
		}
		stored, err := k.GetMany(ctx, keys)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if stored[row.Key].Revision != row.Revision {
				return seal.ErrRowConflict
			}
		}
		if err := retry(ctx, try); err != nil {
			return translate("replace rows", err)
		}
	}
}

// former are the rows that are to be replaced, as they are stored. Only a journal
// needs their values.
func (k *Keys) former(ctx context.Context, keys []string, rows []seal.Row) ([]seal.Row, error) {
	if k.journal == nil {
		return slices.Clone(rows), nil
	}
	stored, err := k.GetMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	former := make([]seal.Row, len(rows))
	for i, row := range rows {
		if former[i] = stored[row.Key]; former[i].Revision != row.Revision {
			return nil, seal.ErrRowConflict
		}
	}
	return former, nil
}

// Discard removes rows as they are given, but leaves their bytes in the block
// files until the server compacts those; see seal.Rows. Where a Put or Replace
// was interrupted, the former row may be seen for a moment.
func (k *Keys) Discard(ctx context.Context, rows ...seal.Row) error {
	revisions, keys := make(map[string]uint64, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		if err := checkKeys(row.Key); err != nil {
			return err
		}
		keys[i], revisions[row.Key] = row.Key, max(row.Revision, revisions[row.Key])
	}
	for first := true; len(keys) > 0; first = false {
		stored, err := k.GetMany(ctx, keys)
		if err != nil {
			return err
		}
		rows, keys = rows[:0:0], keys[:0]
		for key, row := range stored {
			// What comes to light below it is what an interrupted Put has left.
			if given := revisions[key]; row.Revision == given || !first && row.Revision < given {
				rows, keys = append(rows, row), append(keys, key)
			}
		}
		if err := k.drop(ctx, "discard rows", rows, 0); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes the rows' messages of the revisions given and no others, having
// announced them, with some requests under way at once. Rows up to the revision
// last have taken their place.
func (k *Keys) drop(ctx context.Context, verb string, rows []seal.Row, last uint64) error {
	// In the order in which they lie on disk, so that a block is read once.
	slices.SortFunc(rows, func(a, b seal.Row) int { return cmp.Compare(a.Revision, b.Revision) })
	if k.journal != nil {
		marks := make([]seal.Mark, len(rows))
		for i, row := range rows {
			marks[i] = seal.MarkOf(row)
		}
		if err := k.announce(ctx, marks, last, true); err != nil {
			return err
		}
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(leaderRequests)
	for _, row := range rows {
		group.Go(func() error { return k.plainDelete(gctx, row.Revision) })
	}
	if err := group.Wait(); err != nil {
		return translate(verb, err)
	}
	return nil
}

// Destroy removes rows and their bytes; see seal.Rows. Each costs some 25 ms,
// because a whole block file is rewritten.
func (k *Keys) Destroy(ctx context.Context, keys ...string) error {
	if err := checkKeys(keys...); err != nil {
		return err
	}
	for some := range slices.Chunk(keys, MaxRemoval) {
		if err := k.destroy(ctx, math.MaxUint64, 0, some...); err != nil {
			return fmt.Errorf("destroy row: %w", err)
		}
	}
	return nil
}

// DestroyAt removes a row and its bytes unless it has another revision; see
// seal.Rows. After seal.ErrRowConflict the bytes of that revision may be gone.
func (k *Keys) DestroyAt(ctx context.Context, row seal.Row) error {
	if err := k.refuse(); err != nil {
		return fmt.Errorf("destroy row: %w", err) // it may be absent because its deletion failed
	}
	stored, err := k.Get(ctx, row.Key)
	if errors.Is(err, seal.ErrNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	if stored.Revision != row.Revision || row.Revision > math.MaxInt64 {
		return seal.ErrRowConflict
	}
	// No message is deleted but those that there were: what is created in their
	// place is another row.
	if err := k.destroy(ctx, row.Revision+1, 0, row.Key); err != nil {
		return fmt.Errorf("destroy row: %w", err)
	}
	// It may have been overwritten before its message went.
	switch _, err := k.Get(ctx, row.Key); {
	case errors.Is(err, seal.ErrNoRow):
		return nil
	case err != nil:
		return err
	}
	return seal.ErrRowConflict
}

// List yields the rows under a prefix in the order of their last writing; see
// seal.Rows.
func (k *Keys) List(ctx context.Context, prefix string) iter.Seq2[seal.Row, error] {
	return func(yield func(seal.Row, error) bool) {
		if err := seal.CheckPrefix(prefix); err != nil {
			yield(seal.Row{}, fmt.Errorf("list rows: %w", err))
			return
		}
		info, err := k.stream.Info(ctx)
		if err != nil {
			yield(seal.Row{}, translate("list rows", err))
			return
		}
		filters := []string{prefixKeys + ">"}
		if prefix != "" {
			filters = []string{prefixKeys + prefix, prefixKeys + prefix + ".>"}
		}
		for _, filter := range filters {
			if !k.list(ctx, filter, info.State.LastSeq, yield) {
				return
			}
		}
	}
}

// list yields the rows that match and were written last at or before end, so
// that a row that is written meanwhile does not come twice. Former messages of
// a row are passed over.
func (k *Keys) list(ctx context.Context, filter string, end uint64, yield func(seal.Row, error) bool) bool {
	for from := uint64(1); from <= end; {
		page, err := k.collect(ctx, filter, from)
		if err != nil {
			yield(seal.Row{}, translate("list rows", err))
			return false
		}
		if len(page) == 0 {
			break
		}
		from = page[len(page)-1].Sequence + 1
		keys := make([]string, len(page))
		for i, m := range page {
			keys[i] = strings.TrimPrefix(m.Subject, prefixKeys)
		}
		current, err := k.GetMany(ctx, keys)
		if err != nil {
			yield(seal.Row{}, err)
			return false
		}
		for i, m := range page {
			row, ok := current[keys[i]]
			if ok && row.Revision == m.Sequence && row.Revision <= end && !yield(row, nil) {
				return false
			}
		}
	}
	return true
}

func checkKeys(keys ...string) error {
	for _, key := range keys {
		if err := seal.CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}

func rowMessage(row seal.Row, expect events.Expect) *nats.Msg {
	// The header must exist for a batch.
	m := &nats.Msg{Subject: prefixKeys + row.Key, Header: nats.Header{}, Data: row.Value}
	setExpect(m.Header, expect)
	return m
}

func toRow(m *jetstream.RawStreamMsg) seal.Row {
	return seal.Row{Key: strings.TrimPrefix(m.Subject, prefixKeys), Value: m.Data, Revision: m.Sequence}
}
