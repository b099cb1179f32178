package residue

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/sstable/block"
	"github.com/cockroachdb/pebble/v2/sstable/block/blockkind"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const extension = ".sst"

// errDamaged says that a table does not read as one.
var errDamaged = errors.New("table is damaged")

// Tables reads and writes Pebble tables.
type Tables struct{}

// Name returns "table".
func (Tables) Name() string { return "table" }

// Has reports whether a file is a table by its name.
func (Tables) Has(name string) bool { return filepath.Ext(name) == extension }

// Unpack yields every key and value of a table, and then every block.
func (Tables) Unpack(ctx context.Context, path string, yield func(piece []byte) error) (err error) {
	// The reader takes some damage for a fault of its own and panics.
	defer func() {
		if recover() != nil {
			err = errDamaged
		}
	}()
	f, err := vfs.Default.Open(path)
	if err != nil {
		return fmt.Errorf("open table: %w", err)
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(fmt.Errorf("open table: %w", err), f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, sstable.ReaderOptions{})
	if err != nil {
		return errors.Join(fmt.Errorf("open table: %w", err), readable.Close())
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := points(r, yield); err != nil {
		return err
	}
	if err := spans(ctx, r, yield); err != nil {
		return err
	}
	return blocks(ctx, r, yield)
}

// points yields every key and every value, those that newer ones hide too.
func points(r *sstable.Reader, yield func([]byte) error) (err error) {
	it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return fmt.Errorf("read points: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for kv := it.First(); kv != nil; kv = it.Next() {
		value, _, err := kv.V.Value(nil)
		if err != nil {
			return fmt.Errorf("read value: %w", err)
		}
		if err := yield(kv.K.UserKey); err != nil {
			return err
		}
		if err := yield(value); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return fmt.Errorf("read points: %w", err)
	}
	return nil
}

// spans yields what range deletions and range keys hold.
func spans(ctx context.Context, r *sstable.Reader, yield func([]byte) error) error {
	deletions, err := r.NewRawRangeDelIter(ctx, sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil {
		return fmt.Errorf("read range deletions: %w", err)
	}
	keys, err := r.NewRawRangeKeyIter(ctx, sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil {
		return fmt.Errorf("read range keys: %w", err)
	}
	if deletions != nil {
		defer deletions.Close()
		for s, err := deletions.First(); s != nil || err != nil; s, err = deletions.Next() {
			if err != nil {
				return fmt.Errorf("read range deletions: %w", err)
			}
			if err := errors.Join(yield(s.Start), yield(s.End)); err != nil {
				return err
			}
		}
	}
	if keys != nil {
		defer keys.Close()
		for s, err := keys.First(); s != nil || err != nil; s, err = keys.Next() {
			if err != nil {
				return fmt.Errorf("read range keys: %w", err)
			}
			if err := errors.Join(yield(s.Start), yield(s.End)); err != nil {
				return err
			}
			for _, k := range s.Keys {
				if err := errors.Join(yield(k.Suffix), yield(k.Value)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// blocks yields what every block holds as it stands, which is more than its
// keys and values where a table has statistics, bounds and filters.
func blocks(ctx context.Context, r *sstable.Reader, yield func([]byte) error) error {
	l, err := r.Layout()
	if err != nil {
		return fmt.Errorf("read layout: %w", err)
	}
	handles := append([]block.Handle{l.TopIndex, l.RangeDel, l.RangeKey, l.ValueIndex, l.Properties, l.MetaIndex, l.BlobReferenceIndex}, l.Index...)
	for _, h := range l.Data {
		handles = append(handles, h.Handle)
	}
	for _, h := range l.Filter {
		handles = append(handles, h.Handle)
	}
	handles = append(handles, l.ValueBlock...)
	for _, h := range handles {
		if h.Length == 0 {
			continue
		}
		b, err := r.BlockReader().Read(ctx, block.NoReadEnv, nil, h, blockkind.Metadata, func(*block.Metadata, []byte) error { return nil })
		if err != nil {
			return fmt.Errorf("read block: %w", err)
		}
		err = yield(b.BlockData())
		b.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// Plant writes a table that holds each value within one that is compressed.
func (Tables) Plant(_ context.Context, dir string, values [][]byte) error {
	f, err := vfs.Default.Create(filepath.Join(dir, "000001"+extension), vfs.WriteCategoryUnspecified)
	if err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	w := sstable.NewWriter(objstorageprovider.NewFileWritable(f), sstable.WriterOptions{
		TableFormat: sstable.TableFormatMax, Compression: block.SnappyCompression,
	})
	for i, v := range values {
		key := binary.BigEndian.AppendUint32(nil, uint32(i))
		if err := w.Set(key, bytes.Repeat(append([]byte{0}, v...), 3)); err != nil {
			return errors.Join(fmt.Errorf("write table: %w", err), w.Close())
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}
