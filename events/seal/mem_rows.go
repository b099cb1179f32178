package seal

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// MemRows is a [Rows] in memory, for tests and for trying things out. It keeps
// nothing when the process ends.
type MemRows struct {
	mu   sync.RWMutex
	rows map[string]Row
	last uint64
}

// NewMemRows returns an empty store.
func NewMemRows() *MemRows { return &MemRows{rows: make(map[string]Row)} }

// Get implements [Rows].
func (m *MemRows) Get(ctx context.Context, key string) (Row, error) {
	if err := checkCall(ctx, key); err != nil {
		return Row{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	row, ok := m.rows[key]
	if !ok {
		return Row{}, ErrNoRow
	}
	return cloneRow(row), nil
}

// GetMany implements [Rows].
func (m *MemRows) GetMany(ctx context.Context, keys []string) (map[string]Row, error) {
	if err := checkCall(ctx, keys...); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	found := make(map[string]Row, len(keys))
	for _, key := range keys {
		if row, ok := m.rows[key]; ok {
			found[key] = cloneRow(row)
		}
	}
	return found, nil
}

// Create implements [Rows].
func (m *MemRows) Create(ctx context.Context, rows ...Row) error {
	if len(rows) > MaxCreate {
		return ErrTooMany
	}
	for _, row := range rows {
		if err := checkCall(ctx, row.Key); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(map[string]struct{}, len(rows))
	for _, row := range rows {
		_, exists := m.rows[row.Key]
		_, twice := seen[row.Key]
		if exists || twice {
			return &RowExistsError{Key: row.Key}
		}
		seen[row.Key] = struct{}{}
	}
	for _, row := range rows {
		m.store(row)
	}
	return nil
}

// Put implements [Rows].
func (m *MemRows) Put(ctx context.Context, row Row) (uint64, error) {
	if err := checkCall(ctx, row.Key); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := m.rows[row.Key]
	if !ok || stored.Revision != row.Revision {
		return 0, ErrRowConflict
	}
	return m.store(row), nil
}

// Replace implements [Rows].
func (m *MemRows) Replace(ctx context.Context, rows ...Row) error {
	if len(rows) > MaxCreate {
		return ErrTooMany
	}
	if err := checkCall(ctx, keysOf(rows)...); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := make(map[string]struct{}, len(rows))
	for _, row := range rows {
		stored, ok := m.rows[row.Key]
		if _, twice := seen[row.Key]; twice || !ok || stored.Revision != row.Revision {
			return ErrRowConflict
		}
		seen[row.Key] = struct{}{}
	}
	for _, row := range rows {
		m.store(row)
	}
	return nil
}

// Destroy implements [Rows]. Values are overwritten with zeros.
func (m *MemRows) Destroy(ctx context.Context, keys ...string) error {
	if err := checkCall(ctx, keys...); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		clear(m.rows[key].Value)
		delete(m.rows, key)
	}
	return nil
}

// DestroyAt implements [Rows].
func (m *MemRows) DestroyAt(ctx context.Context, row Row) error {
	if err := checkCall(ctx, row.Key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, ok := m.rows[row.Key]
	if !ok {
		return nil
	}
	if stored.Revision != row.Revision {
		return ErrRowConflict
	}
	clear(stored.Value)
	delete(m.rows, row.Key)
	return nil
}

// Discard implements [Rows]. Values are overwritten with zeros all the same.
func (m *MemRows) Discard(ctx context.Context, rows ...Row) error {
	if err := checkCall(ctx, keysOf(rows)...); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, row := range rows {
		if stored, ok := m.rows[row.Key]; ok && stored.Revision == row.Revision {
			clear(stored.Value)
			delete(m.rows, row.Key)
		}
	}
	return nil
}

// List implements [Rows]. It yields a snapshot in key order.
func (m *MemRows) List(ctx context.Context, prefix string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if err := CheckPrefix(prefix); err != nil {
			yield(Row{}, err)
			return
		}
		for _, row := range m.under(prefix) {
			if err := ctx.Err(); err != nil {
				yield(Row{}, fmt.Errorf("list rows: %w", err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (m *MemRows) under(prefix string) []Row {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Row
	for _, key := range slices.Sorted(maps.Keys(m.rows)) {
		if HasPrefix(key, prefix) {
			found = append(found, cloneRow(m.rows[key]))
		}
	}
	return found
}

// store writes a row under the lock.
func (m *MemRows) store(row Row) uint64 {
	m.last++
	stored := cloneRow(row)
	stored.Revision = m.last
	m.rows[row.Key] = stored
	return m.last
}

func cloneRow(row Row) Row {
	row.Value = bytes.Clone(row.Value)
	return row
}

func keysOf(rows []Row) []string {
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	return keys
}

func checkCall(ctx context.Context, keys ...string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("use rows: %w", err)
	}
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	return nil
}
