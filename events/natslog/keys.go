package natslog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/annals-memory/annals/events"
	"github.com/annals-memory/annals/events/seal"
)

// Keys are the seal.Rows on the stream KEYS: one subject per row, whose last
// message is the row and whose sequence is its revision.
//
// JetStream leaves the bytes of a replaced message in its block file, so the
// stream does not replace messages by itself: Put writes the new one and then
// overwrites the bytes of the old one. If the process ends in between, both are
// there, readers see the new one, and the next Put or Destroy of the row
// removes the old one.
type Keys struct {
	*store
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
			return translate("create rows", err)
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
			if err := k.erase(ctx, message.Subject, revision); err != nil {
				return 0, translate("erase former row", err)
			}
			return revision, nil
		}
		if !isConflict(err) {
			return 0, translate("put row", err)
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

// Destroy removes rows and their bytes; see seal.Rows. Each costs some 25 ms,
// because a whole block file is rewritten.
func (k *Keys) Destroy(ctx context.Context, keys ...string) error {
	if err := checkKeys(keys...); err != nil {
		return err
	}
	for _, key := range keys {
		if err := k.erase(ctx, prefixKeys+key, math.MaxUint64); err != nil {
			return translate("destroy row", err)
		}
	}
	return nil
}

// DestroyAt removes a row and its bytes unless it has another revision; see
// seal.Rows. After seal.ErrRowConflict the bytes of that revision may be gone.
func (k *Keys) DestroyAt(ctx context.Context, row seal.Row) error {
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
	if err := k.erase(ctx, prefixKeys+row.Key, row.Revision+1); err != nil {
		return translate("destroy row", err)
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
